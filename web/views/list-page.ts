/** The list of sessions: those that need attention, then running ones, then ended ones. */

import { groupSessions, needOf, type SessionGroups, type SessionInfo, withPendingStarts } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import { go, href } from "../router.ts";
import type { App } from "../state/app.ts";
import { type Filter, noFilter } from "../state/route.ts";
import { emptyForm, start } from "../state/start-form.ts";
import { decisionError } from "./approval.ts";
import { banner } from "./connection-banner.ts";
import { icon } from "./icons.ts";
import { needRow } from "./need-row.ts";
import { copyText } from "./session-actions.ts";
import { row, rowHead } from "./session-row.ts";
import { words } from "./text.ts";
import { virtualList } from "./virtual-list.ts";

export function listPage(app: App, filter: Filter): TemplateResult {
	const sessions = app.sessions.all.value;
	const groups = groupsOf(app, filter);
	const count = groups.needing.length + groups.running.length + groups.ended.length;
	const isLoading = app.sessions.connection.value.kind === "loading";
	return html`<main class="main" id="content">
		${header(app, filter, isLoading ? undefined : filter.isNeeding ? unanswered(app, groups) : count)}${banner(app)}
		<div class="scroll ${filter.isNeeding ? "needing" : ""} ${app.aim.isBlocked.value ? "changing" : ""}">
			${decisionError(app)}
			${isLoading ? skeleton() : count > 0 ? list(app, filter, groups) : sessions.size === 0 ? empty(app) : noMatch(filter)}
		</div>
	</main>`;
}

/** A just answered session stays in place, with the result of the answer, until it asks something else. */
function groupsOf(app: App, filter: Filter): SessionGroups {
	const shown = withPendingStarts(app.sessions.all.value, app.sessions.held.value).map((session) => {
		const need = needOf(session, app.circumstances.value);
		const answer = app.answers.of(session, need);
		return answer && (!need || answer.kind === "taken") ? answer.session : session;
	});
	const groups = groupSessions(shown, filter, app.circumstances.value);
	return { ...groups, needing: app.aim.orderedNeeds(groups.needing) };
}

/** Equal to the navigation's count, which has no answered sessions. */
function unanswered(app: App, { needing }: SessionGroups): number {
	const needs = new Set(app.needing.value.map(({ session }) => session.id));
	return needing.filter(({ session }) => needs.has(session.id)).length;
}

function header(app: App, filter: Filter, count: number | undefined): TemplateResult {
	const change = (event: InputEvent) => {
		const q = (event.currentTarget as HTMLInputElement).value;
		go({ view: "list", filter: { ...filter, q } }, { replace: true });
	};
	return html`<header class="bar">
		<h1>${titleOf(filter)}</h1>
		<span class="faint num">${count ?? nothing}</span>
		<span class="grow"></span>
		<label class="field filter"
			>${icon("search", 14)}<input
				type="search"
				placeholder="Filter by name, command, label"
				aria-label="Filter"
				data-filter
				.value=${filter.q}
				@input=${change}
			/><kbd>/</kbd></label
		>
		<span class="seg" role="group" aria-label="View">
			<a aria-current="page" href=${href({ view: "list", filter })}>${icon("list", 14)}List</a>
			<a href=${href({ view: "grid", filter })}>${icon("grid", 14)}Grid</a>
		</span>
		<button class="btn quiet icon phone-only" aria-label="Go to…" @click=${() => app.dialogs.open({ kind: "palette" })}>
			${icon("search", 19)}
		</button>
		${
			mayStart(app)
				? html`<button class="btn primary start" @click=${() => app.dialogs.open({ kind: "start", form: emptyForm })}>
						${icon("plus", 14)}Start<kbd>N</kbd>
					</button>`
				: nothing
		}
	</header>`;
}

function titleOf({ isNeeding, workspace, labels }: Filter): string {
	if (isNeeding) return "Needs you";
	return labels[0] ?? workspace ?? "All sessions";
}

/** Whether the caller may start sessions in any workspace. */
export function mayStart(app: App): boolean {
	const state = app.auth.state.value;
	if (state.kind !== "signed-in") return false;
	return state.me.admin || state.me.workspaces.some(({ right }) => right === "manage");
}

function list(app: App, filter: Filter, groups: SessionGroups): TemplateResult {
	const { needing, running, ended } = groups;
	const workspaces = new Set([...app.sessions.all.value.values()].map(({ workspace }) => workspace));
	const hasWorkspace = filter.workspace === undefined && workspaces.size > 1;
	const table = (name: string, sessions: readonly SessionInfo[], hint: string, isFirst: boolean) =>
		sessions.length === 0
			? nothing
			: html`<section aria-label=${name}>
					<div class="gh"><h2>${name}</h2><span class="n">${sessions.length}</span><span class="hint">${hint}</span></div>
					<div class="tbl ${hasWorkspace ? "wide" : ""}" role="grid" aria-label=${name} aria-rowcount=${sessions.length + 1}>
						${rowHead(hasWorkspace, name === "Running" || running.length === 0)}
						${virtualList({
							name,
							items: sessions,
							keyOf: ({ id }) => id,
							draw: (session, index) =>
								row(app, session, { index: index + 1, isFirst: isFirst && index === 0, hasWorkspace }),
						})}
					</div>
				</section>`;
	return html`${
		needing.length > 0
			? html`<section aria-label="Needs you">
					<div class="gh">
						<h2>Needs you</h2>
						<span class="n">${unanswered(app, groups) || nothing}</span><span class="hint">${words.answerHere}</span>
					</div>
					<ul class="needs" @pointermove=${() => app.aim.holdOrder()}>
						${repeat(
							needing,
							({ session }) => session.id,
							(one, index) => needRow(app, one, index === 0),
						)}
					</ul>
				</section>`
			: filter.isNeeding
				? html`<p class="none">${words.nothingNeedsYou}</p>`
				: nothing
	}
	${table("Running", running, "", needing.length === 0)}
	${filter.isNeeding ? nothing : table("Ended", ended, words.keptUntilRemoved, needing.length + running.length === 0)}`;
}

function skeleton(): TemplateResult {
	return html`<div class="skeleton" role="status">
		<span class="vh">${words.loading}</span>${[1, 2, 3, 4, 5, 6].map(() => html`<div class="tr"><i></i></div>`)}
	</div>`;
}

function noMatch(filter: Filter): TemplateResult {
	const query = [filter.q, ...filter.labels, filter.workspace ?? ""].filter(Boolean).join(" ");
	return html`<div class="empty">
		<p>${words.noMatch(query)}</p>
		<p><a class="btn" href=${href({ view: "list", filter: noFilter })}>Clear</a></p>
	</div>`;
}

function empty(app: App): TemplateResult {
	const state = app.auth.state.value;
	const host = state.kind === "signed-in" ? state.me.server.name : location.host;
	const { title, what, commands, appears } = words.empty;
	return html`<div class="empty">
		<h2>${title}</h2>
		<p class="dim">${what(host)}</p>
		<div class="code">
			${commands.map((command) => html`<span><span class="faint">$</span> ${command}</span>`)}
			<button class="btn quiet icon" aria-label="Copy the first command" @click=${() => copyText(commands[0])}>
				${icon("copy", 15)}
			</button>
		</div>
		${
			mayStart(app)
				? html`<div class="row">
						<button class="btn primary" @click=${() => startShell(app)}>Start a shell</button>
						<button class="btn" @click=${() => app.dialogs.open({ kind: "start", form: emptyForm })}>
							Start a command…
						</button>
						<span class="grow"></span><span class="faint small">${appears}</span>
					</div>`
				: nothing
		}
	</div>`;
}

async function startShell(app: App): Promise<void> {
	const { id, snapshot } = await start(app.client, { argv: ["bash"] });
	app.sessions.know(snapshot);
	go({ view: "session", id, at: undefined });
}
