/** Renames a session, or removes its name. */

import { signal } from "@preact/signals-core";
import { HawserError } from "hawser/client";
import { html, nothing } from "lit-html";
import type { App } from "../state/app.ts";
import { modal } from "./modal.ts";
import { nameOf } from "./text.ts";

const problem = signal<string | undefined>(undefined);

export function renameDialog(app: App, id: string): unknown {
	const session = app.sessions.all.value.get(id);
	if (!session) return nothing;
	const close = () => {
		problem.value = undefined;
		app.dialogs.close();
	};
	const rename = async (event: SubmitEvent) => {
		event.preventDefault();
		const name = String(new FormData(event.currentTarget as HTMLFormElement).get("name") ?? "").trim();
		try {
			app.sessions.know(await app.client.sessions.at(id).rename(name === "" ? null : name));
			close();
		} catch (error) {
			if (!(error instanceof HawserError)) throw error;
			problem.value = error.message;
		}
	};
	return modal({
		title: `Rename ${nameOf(session)}`,
		look: "small",
		close,
		body: html`<form @submit=${rename}>
			<div class="bd">
				<label class="lab"
					>Name<span class="field"
						><input name="name" data-focus autocomplete="off" .value=${session.name ?? ""} placeholder="none" /></span
				></label>
				<p class="problem" role="alert">${problem.value ?? nothing}</p>
			</div>
			<div class="ft">
				<span class="grow"></span>
				<button class="btn" type="button" @click=${close}>Cancel</button>
				<button class="btn primary" type="submit">Rename<kbd>Enter</kbd></button>
			</div>
		</form>`,
	});
}
