/** The frame of every page: rail, phone tabs, dialogs, and routing. */

import { html, nothing, type TemplateResult } from "lit-html";
import { href, route } from "../router.ts";
import type { App } from "../state/app.ts";
import { commonLabels } from "../state/common-labels.ts";
import { noFilter, type Route } from "../state/route.ts";
import { emptyForm } from "../state/start-form.ts";
import { endVisible } from "./end-visible.ts";
import { glyph, icon, mark } from "./icons.ts";
import { killDialog } from "./kill-dialog.ts";
import { type Lazy, lazy } from "./lazy.ts";
import { listPage, mayStart } from "./list-page.ts";
import { palette } from "./palette.ts";
import { renameDialog } from "./rename-dialog.ts";
import { secretPage } from "./secret-page.ts";
import { sessionMenu } from "./session-menu.ts";
import { sessionState } from "./session-state.ts";
import { settingsPage } from "./settings-page.ts";
import { keysDialog } from "./shortcuts-dialog.ts";
import { signInPage } from "./sign-in-page.ts";
import { startDialog } from "./start-dialog.ts";
import { formatDuration, nameOf, words } from "./text.ts";
import { workspacePage } from "./workspace-page.ts";

const terminals = lazy(() => import("./terminal-page.ts"));
const grids = lazy(() => import("./grid-page.ts"));
const playbacks = lazy(() => import("./playback-page.ts"));

/** Labels that fit next to everything else. */
const MOST_LABELS = 6;
/** Open sessions that fit next to a terminal. */
const MOST_OPEN = 12;

export function shell(app: App): TemplateResult {
	const auth = app.auth.state.value;
	if (auth.kind === "unknown") return html`<main class="center" id="content" aria-busy="true"></main>`;
	if (auth.kind === "unreachable")
		return html`<main class="center" id="content"><p role="status">${words.signIn.away}</p></main>`;
	if (auth.kind === "signed-out") return signInPage(app, auth.was);
	const current = route.value;
	const isGuest = auth.me.guest !== null;
	return html`<a class="skip" href="#content" @click=${skip}>${words.skip}</a>
		<div class="shell ${current.view} ${isGuest ? "guest" : ""}">
			${isGuest ? nothing : rail(app, current)}${page(app, current)}${isGuest ? nothing : tabs(app, current)}
		</div>
		${dialog(app)}
		<div class="vh" role="status" aria-live="polite">${app.announcer.said.value}</div>`;
}

/** Not by a link, because the address may contain a guest key. */
function skip(event: Event): void {
	event.preventDefault();
	const content = document.getElementById("content");
	content?.querySelector<HTMLElement>('[data-row][tabindex="0"], a, button, input, textarea')?.focus();
}

function page(app: App, current: Route): unknown {
	switch (current.view) {
		case "list":
			return listPage(app, current.filter);
		case "grid":
			return whenHere(grids(), ({ gridPage }) => gridPage(app, current));
		case "session":
			return whenHere(terminals(), ({ terminalPage }) => terminalPage(app, current));
		case "playback":
			return whenHere(playbacks(), ({ playbackPage }) => playbackPage(app, current));
		case "workspace":
			return workspacePage(app, current.workspace);
		case "secret":
			return secretPage(app, current.id);
		case "settings":
			return settingsPage(app);
		case "unknown":
			return unknownPage();
	}
}

function dialog(app: App): unknown {
	const open = app.dialogs.current.value;
	switch (open?.kind) {
		case "start":
			return startDialog(app, open.form);
		case "kill":
			return killDialog(app, open.id);
		case "rename":
			return renameDialog(app, open.id);
		case "menu":
			return sessionMenu(app, open.id, open.at);
		case "palette":
			return palette(app);
		case "keys":
			return keysDialog(app);
		case undefined:
			return nothing;
	}
}

function whenHere<Module>(part: Lazy<Module>, draw: (module: Module) => unknown): unknown {
	if (part.kind === "here") return draw(part.module);
	if (part.kind === "loading") return html`<main class="main" id="content" aria-busy="true"></main>`;
	return html`<main class="main" id="content">
		<div class="empty">
			<h1>${words.updated}</h1>
			<p><button class="btn primary" @click=${() => location.reload()}>Reload</button></p>
		</div>
	</main>`;
}

function unknownPage(): TemplateResult {
	return html`<main class="main" id="content">
		<div class="empty">
			<h1>Page not found</h1>
			<p><a class="btn" href=${href({ view: "list", filter: noFilter })}>All sessions</a></p>
		</div>
	</main>`;
}

type Place = {
	readonly name: string;
	readonly short: string;
	readonly sign: TemplateResult;
	readonly target: Route;
	readonly isHere: boolean;
	readonly count: number;
};

function places(app: App, current: Route): Place[] {
	const isNeeding = current.view === "list" && current.filter.isNeeding;
	const isAll = current.view === "list" && !isNeeding && current.filter.labels.length === 0;
	const needs = app.needing.value.length;
	const total = app.sessions.all.value.size;
	return [
		{
			name: "Needs you",
			short: "Needs you",
			sign: glyph(needs > 0 ? "wait" : "idle"),
			target: { view: "list", filter: { ...noFilter, isNeeding: true } },
			isHere: isNeeding,
			count: needs,
		},
		{
			name: "All sessions",
			short: "Sessions",
			sign: icon("list"),
			target: { view: "list", filter: noFilter },
			isHere: isAll,
			count: total,
		},
		{
			name: "Grid",
			short: "Grid",
			sign: icon("grid"),
			target: { view: "grid", filter: noFilter },
			isHere: current.view === "grid",
			count: 0,
		},
	];
}

function rail(app: App, current: Route): TemplateResult {
	const isAtTerminal = current.view === "session" || current.view === "playback";
	return html`<aside class="rail" aria-label="Hawser">
		<div class="top">
			<a class="brand" aria-label="hawser" href=${href({ view: "list", filter: noFilter })}>${mark(20)}<span class="wide">hawser</span></a>
		</div>
		<button class="field go" @click=${() => app.dialogs.open({ kind: "palette" })}>
			${icon("search", 14)}<span class="grow label">Go to…</span><kbd class="wide">Ctrl K</kbd>
		</button>
		<nav class="nav" aria-label="Views">
			${places(app, current).map(
				({ name, sign, target, isHere, count }, index) =>
					html`<a href=${href(target)} aria-current=${isHere ? "page" : nothing}
						>${sign}<span class="grow ell label">${name}</span>${
							count > 0 ? html`<span class=${index === 0 ? "pill wait" : "n wide"}>${count}</span>` : nothing
						}</a
					>`,
			)}
			<div class="wide">${isAtTerminal ? openSessions(app, current.id) : filters(app, current)}</div>
		</nav>
		${foot(app)}
	</aside>`;
}

function filters(app: App, current: Route): unknown {
	const sessions = app.sessions.all.value;
	const labels = commonLabels(sessions.values(), MOST_LABELS);
	const chosen = current.view === "list" ? current.filter.labels : [];
	const workspaces = new Set([...sessions.values()].map(({ workspace }) => workspace));
	const state = app.auth.state.value;
	for (const { id } of state.kind === "signed-in" ? state.me.workspaces : []) workspaces.add(id);
	return html`${
		labels.length > 0
			? html`<h2>Filters</h2>
					${labels.map(({ label, count }) => {
						const isHere = chosen.includes(label);
						const target: Route = { view: "list", filter: { ...noFilter, labels: isHere ? [] : [label] } };
						return html`<a href=${href(target)} aria-current=${isHere ? "page" : nothing}
							><span class="grow ell">${label}</span><span class="n">${count}</span></a
						>`;
					})}`
			: nothing
	}
	${
		workspaces.size > 0
			? html`<h2>Workspaces</h2>
					${[...workspaces].sort().map(
						(workspace) => html`<a
							href=${href({ view: "workspace", workspace })}
							aria-current=${current.view === "workspace" && current.workspace === workspace ? "page" : nothing}
							>${icon("users")}<span class="grow ell">${workspace}</span></a
						>`,
					)}`
			: nothing
	}`;
}

/** Vertical tabs: sessions that need attention, and other running sessions. */
function openSessions(app: App, id: string): TemplateResult {
	const now = app.clock.now.value;
	const needing = app.openable.value;
	const needed = new Set(needing.map(({ session }) => session.id));
	const running = [...app.sessions.all.value.values()]
		.filter((session) => session.state === "running" && !needed.has(session.id))
		.sort((a, b) => b.createdAt - a.createdAt)
		// The current session is always listed.
		.filter((session, index) => index < MOST_OPEN || session.id === id);
	const at = (session: string) => href({ view: "session", id: session, at: undefined });
	const isHere = (session: string) => (session === id ? "page" : nothing);
	return html`${
		needing.length > 0
			? html`<h2>Needs you</h2>
					${needing.map(({ session, need }) => {
						const state = sessionState(session, need, now);
						const isAsking = need.kind === "asks" || need.kind === "secret" || need.kind === "approval";
						const isLine = need.kind === "secret" || (need.kind === "asks" && !need.agent);
						const text = need.kind === "approval" ? need.approval.preview.trim() : need.question;
						const question = isLine
							? html`<span class="q ell end block">${endVisible(text)}</span>`
							: html`<span class="q ell block">${text}</span>`;
						return html`<a class=${isAsking ? "ask" : nothing} href=${at(session.id)} aria-current=${isHere(session.id)}
							>${glyph(state.glyph)}<span class="grow"
								><span class="ell block">${nameOf(session)}</span>${isAsking ? question : nothing}</span
							>${isAsking ? nothing : html`<span class="n">${formatDuration(now - need.since)}</span>`}</a
						>`;
					})}`
			: nothing
	}
	${
		running.length > 0
			? html`<h2>Open</h2>
					${running.map((session) => {
						const state = sessionState(session, undefined, now);
						return html`<a href=${at(session.id)} aria-current=${isHere(session.id)}
							>${glyph(state.glyph)}<span class="grow ell">${nameOf(session)}</span
							><span class="n">${state.glyph === "run" ? "now" : state.word.replace("idle ", "")}</span></a
						>`;
					})}`
			: nothing
	}`;
}

function foot(app: App): TemplateResult {
	const connection = app.sessions.connection.value;
	const state = app.auth.state.value;
	const isCut = connection.kind === "disconnected";
	const seconds = isCut ? Math.max(0, Math.round((app.clock.now.value - connection.since) / 1000)) : 0;
	const sentence = isCut ? words.reconnecting(seconds) : connection.kind === "live" ? words.connected : "Connecting…";
	return html`<div class="foot">
		<div class="row">
			<span class="dot ${isCut ? "off" : ""}"></span><span class="grow ell wide ${isCut ? "wait" : ""}">${sentence}</span>
			${connection.kind === "live" ? html`<span class="num wide">${Math.max(1, Math.round(connection.answerMs))} ms</span>` : nothing}
		</div>
		<div class="row">
			<span class="grow ell wide">${state.kind === "signed-in" ? state.me.server.name : nothing}</span>
			<a class="btn quiet icon" aria-label="Settings" href=${href({ view: "settings" })}>${icon("cog", 15)}</a>
			<button class="btn quiet icon wide" aria-label="Shortcuts" @click=${() => app.dialogs.open({ kind: "keys" })}>
				<kbd>?</kbd>
			</button>
		</div>
	</div>`;
}

function tabs(app: App, current: Route): TemplateResult {
	return html`<nav class="tabs" aria-label="Tabs">
		${places(app, current).map(
			({ short, sign, target, isHere, count }, index) =>
				html`<a href=${href(target)} aria-current=${isHere ? "page" : nothing}
					>${sign}<span>${short}</span>${index === 0 && count > 0 ? html`<span class="badge">${count}</span>` : nothing}</a
				>`,
		)}
		${
			mayStart(app)
				? html`<button @click=${() => app.dialogs.open({ kind: "start", form: emptyForm })}>${icon("plus")}<span>Start</span></button>`
				: html`<a href=${href({ view: "settings" })}>${icon("cog")}<span>Settings</span></a>`
		}
	</nav>`;
}
