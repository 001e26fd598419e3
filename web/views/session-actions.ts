/** Actions on a session, shared by rows, menus, shortcuts and the palette. */

import { HawserError, isEnded, type SessionInfo } from "hawser/client";
import { go } from "../router.ts";
import type { App } from "../state/app.ts";
import { restartRequest, start } from "../state/start-form.ts";
import { nameOf } from "./text.ts";

export type Action = { readonly name: string; readonly key?: string; readonly isDanger?: boolean; act(): unknown };

export function open(app: App, session: SessionInfo): void {
	if (isEnded(session)) app.dismiss(session);
	go({ view: "session", id: session.id, at: undefined });
}

/** Starts the same program again and opens it. */
export async function runAgain(app: App, session: SessionInfo): Promise<void> {
	const started = await start(app.client, restartRequest(session)).catch((error: unknown) => {
		if (!(error instanceof HawserError)) throw error;
		app.announcer.say(error.message);
		return undefined;
	});
	if (!started) return;
	app.sessions.know(started.snapshot);
	if (isEnded(session)) app.dismiss(session);
	go({ view: "session", id: started.id, at: undefined });
}

export async function copyText(text: string): Promise<void> {
	await navigator.clipboard.writeText(text);
}

export function actionsOf(app: App, session: SessionInfo): Action[] {
	const { id, workspace } = session;
	const mayManage = app.auth.may("manage", workspace);
	const actions: (Action | false)[] = [
		{ name: "Open", key: "Enter", act: () => open(app, session) },
		mayManage && { name: "Rename…", key: "R", act: () => app.dialogs.open({ kind: "rename", id }) },
		{ name: "Copy ID", act: () => copyText(id) },
		{
			name: "Copy attach command",
			act: () => copyText(`hawser attach ${session.name === null ? id : quoted(session.name)}`),
		},
		{ name: "Playback", act: () => go({ view: "playback", id, at: undefined }) },
		mayManage && { name: "Run again", act: () => runAgain(app, session) },
		mayManage &&
			!isEnded(session) && {
				name: "Kill…",
				key: "Del",
				isDanger: true,
				act: () => app.dialogs.open({ kind: "kill", id }),
			},
		mayManage &&
			isEnded(session) && {
				name: "Delete",
				key: "Del",
				isDanger: true,
				act: () => app.client.sessions.at(id).remove(),
			},
	];
	return actions.filter((action) => action !== false);
}

/** The action of `Del`. */
export function killOrRemove(app: App, session: SessionInfo): void {
	void actionsOf(app, session)
		.find(({ key }) => key === "Del")
		?.act();
}

function quoted(name: string): string {
	return /^[\w.:@-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}

/** For screen readers: "api-refactor, asks: Push 3 commits? waits 4 min". */
export function ariaLabel(session: SessionInfo, word: string, more: string): string {
	return [nameOf(session), more === "" ? word : `${word}: ${more}`].join(", ");
}
