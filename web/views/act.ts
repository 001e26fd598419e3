/** What can be done with one session, wherever it is offered: rows, menus, keys and the palette. */

import { HawserError, isEnded, type Listed } from "hawser/client";
import { go } from "../router.ts";
import type { App } from "../state/app.ts";
import { sameAgain, start } from "../state/start.ts";
import { nameOf } from "./words.ts";

export type Action = { readonly name: string; readonly key?: string; readonly isDanger?: boolean; act(): unknown };

export function open(app: App, session: Listed): void {
	if (isEnded(session)) app.dismiss(session);
	go({ view: "session", id: session.id, at: undefined });
}

/** Starts the same program once more, and goes there. */
export async function runAgain(app: App, session: Listed): Promise<void> {
	const started = await start(app.client, sameAgain(session)).catch((error: unknown) => {
		if (!(error instanceof HawserError)) throw error;
		app.announcer.say(error.message);
		return undefined;
	});
	if (!started) return;
	app.sessions.know(started.snapshot);
	if (isEnded(session)) app.dismiss(session);
	go({ view: "session", id: started.id, at: undefined });
}

export async function copy(text: string): Promise<void> {
	await navigator.clipboard.writeText(text);
}

export function actionsOf(app: App, session: Listed): Action[] {
	const { id, workspace } = session;
	const mayManage = app.auth.may("manage", workspace);
	const actions: (Action | false)[] = [
		{ name: "Open", key: "Enter", act: () => open(app, session) },
		mayManage && { name: "Rename…", key: "R", act: () => app.dialogs.open({ kind: "rename", id }) },
		{ name: "Copy id", act: () => copy(id) },
		{
			name: "Copy attach command",
			act: () => copy(`hawser attach ${session.name === null ? id : quoted(session.name)}`),
		},
		{ name: "Play back", act: () => go({ view: "playback", id, at: undefined }) },
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
				name: "Remove",
				key: "Del",
				isDanger: true,
				act: () => app.client.sessions.at(id).remove(),
			},
	];
	return actions.filter((action) => action !== false);
}

/** What `Del` does. */
export function end(app: App, session: Listed): void {
	void actionsOf(app, session)
		.find(({ key }) => key === "Del")
		?.act();
}

function quoted(name: string): string {
	return /^[\w.:@-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}

/** For readers: "api-refactor, asks: Push 3 commits? waits 4 min". */
export function spoken(session: Listed, word: string, more: string): string {
	return [nameOf(session), more === "" ? word : `${word}: ${more}`].join(", ");
}
