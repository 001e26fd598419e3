/** The terminal of one session. */

import { html, type TemplateResult } from "lit-html";
import type { App } from "../state/app.ts";
import type { Route } from "../state/route.ts";

export function terminalPage(_app: App, _route: Extract<Route, { view: "session" }>): TemplateResult {
	return html`<main class="main" id="content"><h1>The terminal of one session</h1></main>`;
}
