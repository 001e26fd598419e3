/** A row of a session that goes on by itself, or has ended. */

import { isEnded, type Listed, typedLine } from "hawser/client";
import { html, nothing, svg, type TemplateResult } from "lit-html";
import { href } from "../router.ts";
import type { App } from "../state/app.ts";
import { open, spoken } from "./act.ts";
import { describe } from "./describe.ts";
import { glyph, icon } from "./glyph.ts";
import { nameOf, span } from "./words.ts";

type RowOptions = {
	/** From 1, in its group. */
	readonly index: number;
	/** Whether keys reach it when none is selected. */
	readonly isFirst: boolean;
	/** Whether it says in which workspace it is. */
	readonly hasWorkspace: boolean;
};

/** `isSeen` is false below another one: readers are told all the same. */
export function rowHead(hasWorkspace: boolean, isSeen: boolean): TemplateResult {
	const names = ["Name", ...(hasWorkspace ? ["Workspace"] : []), "Command", "Last line", "Activity", "State"];
	return html`<div class="tr h ${isSeen ? "" : "unseen"}" role="row" aria-rowindex="1">
		<span role="columnheader"><span class="vh">Sign</span></span>
		${names.map((name) => html`<span class=${name === "Activity" ? "spark" : nothing} role="columnheader">${name}</span>`)}
		<span class="r" role="columnheader">Age</span>
		<span class="r watching" role="columnheader">Watching</span>
		<span role="columnheader"><span class="vh">More</span></span>
	</div>`;
}

export function row(app: App, session: Listed, { index, isFirst, hasWorkspace }: RowOptions): TemplateResult {
	const now = app.clock.now.value;
	const { id, overview, endedAt, createdAt } = session;
	const watchers = overview?.watchers ?? session.attachments;
	const state = describe(session, undefined, now);
	const last = (overview?.lastLine ?? "").trim();
	const isSelected = app.selected.value === id;
	return html`<div
		class="tr ${isSelected ? "sel" : ""}"
		role="row"
		aria-rowindex=${index + 1}
		data-row=${id}
		tabindex=${isSelected || (isFirst && app.selected.value === undefined) ? 0 : -1}
		aria-label=${spoken(session, state.word, last)}
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
		<span class="cmd ell" role="gridcell">${typedLine(session.argv)}</span>
		<span class="last ell" role="gridcell">${last}</span>
		<span class="spark" role="gridcell">${spark(overview?.activity ?? [], state.glyph === "run")}</span>
		<span class="st ${state.tone}" role="gridcell">${state.word}</span>
		<span class="r age" role="gridcell">${span(now - (isEnded(session) ? (endedAt ?? createdAt) : createdAt))}</span>
		<span class="r watching" role="gridcell"
			>${watchers > 0 ? html`<span class="eye">${icon("eye", 13)}${watchers}<span class="vh"> watching</span></span>` : nothing}</span
		>
		<span role="gridcell"
			><button class="more" tabindex="-1" aria-label="More about ${nameOf(session)}" @click=${(event: MouseEvent) => showMenu(app, id, event)}>
				${icon("more")}
			</button></span
		>
	</div>`;
}

/** Anywhere in the row but on what has a meaning of its own. */
function press(app: App, session: Listed, event: MouseEvent): void {
	if (event.target instanceof Element && event.target.closest("a, button")) return;
	open(app, session);
}

function showMenu(app: App, id: string, event: MouseEvent): void {
	event.preventDefault();
	event.stopPropagation();
	app.dialogs.open({ kind: "menu", id, at: { x: event.clientX, y: event.clientY } });
}

const BAR = { width: 2, gap: 1, height: 16 } as const;

/** How much was written lately: one path, for there may be hundreds of rows. Heights grow as the logarithm does, from a single line to a flood. */
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
