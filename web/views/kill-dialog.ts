/** The confirmation before a session is killed. */

import { signal } from "@preact/signals-core";
import { html, nothing } from "lit-html";
import type { App } from "../state/app.ts";
import { modal } from "./modal.ts";
import { mounted } from "./mounted.ts";
import { formatDuration, nameOf, words } from "./text.ts";

/** Number of child processes of the session in question, once known. */
const started = signal<{ readonly id: string; readonly count: number | undefined }>({ id: "", count: undefined });

async function count(app: App, id: string): Promise<void> {
	started.value = { id, count: undefined };
	// A session that can't be inspected can still be killed.
	const { processes } = await app.client.sessions
		.at(id)
		.inspect()
		.catch(() => ({ processes: undefined }));
	if (processes !== undefined && started.peek().id === id) started.value = { id, count: Math.max(0, processes - 1) };
}

export function killDialog(app: App, id: string): unknown {
	const session = app.sessions.all.value.get(id);
	if (!session) return nothing;
	const close = () => app.dialogs.close();
	const kill = () => {
		close();
		void app.client.sessions.at(id).kill();
	};
	const ask = () => {
		void count(app, id);
		return () => {};
	};
	const program = (session.argv[0] ?? "").split("/").at(-1) ?? "";
	return modal({
		title: words.kill.title(nameOf(session)),
		look: "small",
		close,
		body: html`<div class="bd" ${mounted(ask)}>
				<p class="dim">${words.kill.what(formatDuration(app.clock.now.value - session.createdAt), program, started.value.count)}</p>
			</div>
			<div class="ft">
				<span class="grow"></span>
				<button class="btn" data-focus @click=${close}>Cancel</button>
				<button class="btn danger" @click=${kill}>Kill it</button>
			</div>`,
	});
}
