/** Announces sessions that need attention: to screen readers, and in the tab's title. */

import { effect } from "@preact/signals-core";
import { needSummary } from "hawser/client";
import type { App } from "./state/app.ts";
import { sessionState } from "./views/session-state.ts";
import { nameOf } from "./views/text.ts";

export function startAnnouncements(app: App): void {
	let known: ReadonlySet<string> = new Set();
	effect(() => {
		const needing = app.needing.value;
		document.title = needing.length === 0 ? "Hawser" : `(${needing.length}) Hawser`;
		const fresh = needing.find(({ session }) => !known.has(session.id));
		known = new Set(needing.map(({ session }) => session.id));
		if (!fresh) return;
		const { word } = sessionState(fresh.session, fresh.need, app.clock.now.peek());
		app.announcer.say(needSummary(needing.length, nameOf(fresh.session), word));
	});
}
