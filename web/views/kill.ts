/** Before a session is killed: what that ends, and what stays. */

import { html, nothing } from "lit-html";
import type { App } from "../state/app.ts";
import { modal } from "./dialog.ts";
import { nameOf, span, words } from "./words.ts";

export function killDialog(app: App, id: string): unknown {
	const session = app.sessions.all.value.get(id);
	if (!session) return nothing;
	const close = () => app.dialogs.close();
	const kill = () => {
		close();
		void app.client.sessions.at(id).kill();
	};
	const program = (session.argv[0] ?? "").split("/").at(-1) ?? "";
	return modal({
		title: words.kill.title(nameOf(session)),
		look: "small",
		close,
		body: html`<div class="bd">
				<p class="dim">${words.kill.what(span(app.clock.now.value - session.createdAt), program)}</p>
			</div>
			<div class="ft">
				<span class="grow"></span>
				<button class="btn" data-focus @click=${close}>Cancel</button>
				<button class="btn danger" @click=${kill}>Kill it</button>
			</div>`,
	});
}
