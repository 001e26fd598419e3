/** What is around every page: the rail, the tabs of a phone, and which page it is. */

import { html, nothing, type TemplateResult } from "lit-html";
import { go, href, route } from "../router.ts";
import type { App } from "../state/app.ts";
import { everything, type Route } from "../state/route.ts";
import { glyph, icon, mark } from "./glyph.ts";
import { type Lazy, lazy } from "./lazy.ts";
import { listPage } from "./list.ts";
import { settingsPage } from "./settings.ts";
import { signInPage } from "./sign-in.ts";
import { words } from "./words.ts";

const terminals = lazy(() => import("./terminal-page.ts"));
const grids = lazy(() => import("./grid.ts"));
const playbacks = lazy(() => import("./playback.ts"));

export function shell(app: App): TemplateResult {
	const auth = app.auth.state.value;
	if (auth.kind === "unknown") return html`<main class="center" id="content" aria-busy="true"></main>`;
	if (auth.kind === "out") return signInPage(app, { wasIn: auth.was });
	const current = route.value;
	return html`<a class="skip" href="#content">${words.skip}</a>
		<div class="shell ${current.view === "grid" ? "narrow" : nothing}">${rail(current)}${page(app, current)}${tabs(current)}</div>`;
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
		case "settings":
			return settingsPage(app);
		case "workspace":
		case "unknown":
			return unknownPage();
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
			<h1>There is nothing at this address</h1>
			<p><a class="btn" href=${href({ view: "list", filter: everything })}>All sessions</a></p>
		</div>
	</main>`;
}

type Place = { readonly name: string; readonly sign: TemplateResult; readonly target: Route; readonly isHere: boolean };

function places(current: Route): Place[] {
	const isNeeding = current.view === "list" && current.filter.isNeeding;
	return [
		{
			name: "Needs you",
			sign: glyph("wait"),
			target: { view: "list", filter: { ...everything, isNeeding: true } },
			isHere: isNeeding,
		},
		{
			name: "All sessions",
			sign: icon("list"),
			target: { view: "list", filter: everything },
			isHere: current.view === "list" && !isNeeding,
		},
		{ name: "Grid", sign: icon("grid"), target: { view: "grid", filter: everything }, isHere: current.view === "grid" },
	];
}

function rail(current: Route): TemplateResult {
	return html`<aside class="rail" aria-label="Hawser">
		<div class="top"><a class="brand" href=${href({ view: "list", filter: everything })}>${mark(20)}<span>hawser</span></a></div>
		<nav class="nav" aria-label="Views">
			${places(current).map(
				({ name, sign, target, isHere }) =>
					html`<a href=${href(target)} aria-current=${isHere ? "page" : nothing}>${sign}<span class="grow ell">${name}</span></a>`,
			)}
		</nav>
		<div class="foot">
			<button class="btn quiet icon" aria-label="Settings" @click=${() => go({ view: "settings" })}>${icon("cog", 15)}</button>
		</div>
	</aside>`;
}

function tabs(current: Route): TemplateResult {
	return html`<nav class="tabs" aria-label="Views">
		${places(current).map(
			({ name, sign, target, isHere }) =>
				html`<a href=${href(target)} aria-current=${isHere ? "page" : nothing}>${sign}<span>${name}</span></a>`,
		)}
	</nav>`;
}
