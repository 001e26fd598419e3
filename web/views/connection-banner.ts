/** The banner while the server is unreachable. The last known content stays readable below it. */

import { html, nothing, type TemplateResult } from "lit-html";
import type { App } from "../state/app.ts";
import { glyph, icon } from "./icons.ts";
import { words } from "./text.ts";

/** For shorter interruptions only the rail shows it. */
export const SHORT_CUT_MS = 10_000;

export function banner(app: App): TemplateResult | typeof nothing {
	const connection = app.sessions.connection.value;
	const now = app.clock.now.value;
	if (connection.kind === "live" && app.auth.isUpdated) return updated();
	if (connection.kind !== "disconnected" || now - connection.since < SHORT_CUT_MS) return nothing;
	const [what = "", more = ""] = words.away(Math.max(0, Math.ceil((connection.retryAt - now) / 1000)));
	return html`<div class="banner" role="status">
		${glyph("quiet")}<span class="grow"><b>${what}</b> <span class="dim">${more}</span></span>
		<button class="btn primary" @click=${() => app.sessions.follow()}>Try now</button>
	</div>`;
}

/** Never reloads by itself: the user may be in the middle of something. */
function updated(): TemplateResult {
	return html`<div class="banner" role="status">
		${icon("rewind")}<span class="grow"><b>${words.updated}</b></span>
		<button class="btn primary" @click=${() => location.reload()}>Reload</button>
	</div>`;
}
