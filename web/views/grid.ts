/** Tiles of many sessions. */

import { html, type TemplateResult } from "lit-html";
import type { App } from "../state/app.ts";
import type { Route } from "../state/route.ts";

export function gridPage(_app: App, _route: Extract<Route, { view: "grid" }>): TemplateResult {
	return html`<main class="main" id="content"><h1>Tiles of many sessions</h1></main>`;
}
