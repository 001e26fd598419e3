/** What stands above a page while the server is away: what was last known stays readable below it. */

import { html, nothing, type TemplateResult } from "lit-html";
import type { App } from "../state/app.ts";
import { glyph, icon } from "./glyph.ts";
import { words } from "./words.ts";

/** A cut as short as this is told by the rail alone. */
export const SHORT_CUT_MS = 10_000;

export function banner(app: App): TemplateResult | typeof nothing {
	const connection = app.sessions.connection.value;
	const now = app.clock.now.value;
	if (connection.kind === "live" && app.auth.isUpdated) return updated();
	if (connection.kind !== "cut" || now - connection.since < SHORT_CUT_MS) return nothing;
	const [what = "", more = ""] = words.away(Math.max(0, Math.ceil((connection.retryAt - now) / 1000)));
	return html`<div class="banner" role="status">
		${glyph("quiet")}<span class="grow"><b>${what}</b> <span class="dim">${more}</span></span>
		<button class="btn primary" @click=${() => app.sessions.follow()}>Try now</button>
	</div>`;
}

/** Never by itself: somebody may be in the middle of something. */
function updated(): TemplateResult {
	return html`<div class="banner" role="status">
		${icon("rewind")}<span class="grow"><b>${words.updated}</b></span>
		<button class="btn primary" @click=${() => location.reload()}>Reload</button>
	</div>`;
}
