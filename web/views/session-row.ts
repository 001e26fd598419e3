/** A row for a session that is running without a need, or has ended. */

import { agentText, commandText, isEnded, type SessionInfo } from "hawser/client";
import { html, nothing, svg, type TemplateResult } from "lit-html";
import { href } from "../router.ts";
import type { App } from "../state/app.ts";
import { glyph, icon } from "./icons.ts";
import { ariaLabel, open } from "./session-actions.ts";
import { sessionState } from "./session-state.ts";
import { formatDuration, nameOf } from "./text.ts";

type RowOptions = {
	/** One-based, within its group. */
	readonly index: number;
	/** Whether it takes the tab focus when no row is selected. */
	readonly isFirst: boolean;
	/** Whether it shows its workspace. */
	readonly hasWorkspace: boolean;
};

/** `isSeen` is false below another table's header; screen readers still get it. */
export function rowHead(hasWorkspace: boolean, isSeen: boolean): TemplateResult {
	const names = ["Name", ...(hasWorkspace ? ["Workspace"] : []), "Command", "Last line", "Activity", "State"];
	return html`<div class="tr h ${isSeen ? "" : "unseen"}" role="row" aria-rowindex="1">
		<span role="columnheader"><span class="vh">Sign</span></span>
		${names.map((name) => html`<span class=${name === "Activity" ? "spark" : nothing} role="columnheader">${name}</span>`)}
		<span class="r" role="columnheader">Age</span>
		<span class="r watching" role="columnheader">Viewers</span>
		<span role="columnheader"><span class="vh">More</span></span>
	</div>`;
}

export function row(app: App, session: SessionInfo, { index, isFirst, hasWorkspace }: RowOptions): TemplateResult {
	const now = app.clock.now.value;
	const { id, overview, endedAt, createdAt } = session;
	const watchers = overview?.watchers ?? session.attachments;
	const state = sessionState(session, undefined, now);
	const last = overview?.agent
		? agentText({ agent: overview.agent, lastLine: overview.lastLine })
		: (overview?.lastLine ?? "").trim();
	const isSelected = app.selected.value === id;
	return html`<div
		class="tr ${isSelected ? "sel" : ""}"
		role="row"
		aria-rowindex=${index + 1}
		data-row=${id}
		tabindex=${isSelected || (isFirst && app.selected.value === undefined) ? 0 : -1}
		aria-label=${ariaLabel(session, state.word, last)}
		@click=${(event: MouseEvent) => press(app, session, event)}
		@contextmenu=${(event: MouseEvent) => showMenu(app, id, event)}
		@focusin=${() => {
			app.selected.value = id;
		}}
	>
		<span role="gridcell">${glyph(state.glyph)}</span>
		<span class="cell name ell" role="gridcell"
			><a tabindex="-1" href=${href({ view: "session", id, at: undefined })}>${nameOf(session)}</a></span
		>
		${hasWorkspace ? html`<span class="ws ell" role="gridcell">${session.workspace}</span>` : nothing}
		<span class="cmd ell" role="gridcell">${commandText(session.argv)}</span>
		<span class="last ell" role="gridcell">${last}</span>
		<span class="spark" role="gridcell">${spark(overview?.activity ?? [], state.glyph === "run")}</span>
		<span class="st ${state.tone}" role="gridcell">${state.word}</span>
		<span class="r age" role="gridcell">${formatDuration(now - (isEnded(session) ? (endedAt ?? createdAt) : createdAt))}</span>
		<span class="r watching" role="gridcell"
			>${watchers > 0 ? html`<span class="eye">${icon("eye", 13)}${watchers}<span class="vh"> watching</span></span>` : nothing}</span
		>
		<span role="gridcell"
			><button class="more" tabindex="-1" aria-label="More actions for ${nameOf(session)}" @click=${(event: MouseEvent) => showMenu(app, id, event)}>
				${icon("more")}
			</button></span
		>
	</div>`;
}

/** Clicks anywhere in the row, except on its own controls. */
function press(app: App, session: SessionInfo, event: MouseEvent): void {
	if (event.target instanceof Element && event.target.closest("a, button")) return;
	open(app, session);
}

function showMenu(app: App, id: string, event: MouseEvent): void {
	event.preventDefault();
	event.stopPropagation();
	app.dialogs.open({ kind: "menu", id, at: { x: event.clientX, y: event.clientY } });
}

const BAR = { width: 2, gap: 1, height: 16 } as const;

/**
 * Recent activity as one path, because there may be hundreds of rows. Heights are logarithmic, from one line to a
 * flood.
 */
function spark(activity: readonly number[], isActive: boolean): TemplateResult | typeof nothing {
	if (activity.length === 0) return nothing;
	const step = BAR.width + BAR.gap;
	const most = Math.log1p(Math.max(...activity));
	const bars = activity.map((amount, index) => {
		const height = amount === 0 ? 1 : Math.max(2, Math.round((Math.log1p(amount) / most) * BAR.height));
		return `M${index * step} ${BAR.height}v-${height}h${BAR.width}v${height}z`;
	});
	const now = isActive ? bars.pop() : undefined;
	return html`<svg viewBox="0 0 ${activity.length * step} ${BAR.height}" aria-hidden="true">
		${svg`<path d=${bars.join("")}></path>${now === undefined ? nothing : svg`<path class="now" d=${now}></path>`}`}
	</svg>`;
}
