/** What can be chosen for this browser, and the way out. */

import { html, type TemplateResult } from "lit-html";
import type { App } from "../state/app.ts";

export function settingsPage(app: App): TemplateResult {
	return html`<main class="main" id="content">
		<div class="bar"><h1>Settings</h1></div>
		<div class="scroll">
			<button class="btn" @click=${() => app.auth.signOut()}>Sign out</button>
		</div>
	</main>`;
}
