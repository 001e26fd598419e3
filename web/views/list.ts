/** The list of sessions: those that need somebody first. */

import { html, type TemplateResult } from "lit-html";
import type { App } from "../state/app.ts";
import type { Filter } from "../state/route.ts";

export function listPage(_app: App, _filter: Filter): TemplateResult {
	return html`<main class="main" id="content">
		<div class="bar"><h1>All sessions</h1></div>
	</main>`;
}
