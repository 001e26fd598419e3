/** What a session has written, played again. */

import { html, type TemplateResult } from "lit-html";
import type { App } from "../state/app.ts";
import type { Route } from "../state/route.ts";

export function playbackPage(_app: App, _route: Extract<Route, { view: "playback" }>): TemplateResult {
	return html`<main class="main" id="content"><h1>What a session has written, played again</h1></main>`;
}
