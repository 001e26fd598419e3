/** Says who needs somebody now: to screen readers, and in the title of the tab. */

import { effect } from "@preact/signals-core";
import { needingSentence } from "hawser/client";
import type { App } from "./state/app.ts";
import { describe } from "./views/describe.ts";
import { nameOf } from "./views/words.ts";

export function keepAnnouncing(app: App): void {
	let known: ReadonlySet<string> = new Set();
	effect(() => {
		const needing = app.needing.value;
		document.title = needing.length === 0 ? "Hawser" : `(${needing.length}) Hawser`;
		const fresh = needing.find(({ session }) => !known.has(session.id));
		known = new Set(needing.map(({ session }) => session.id));
		if (!fresh) return;
		const { word } = describe(fresh.session, fresh.need, app.clock.now.peek());
		app.announcer.say(needingSentence(needing.length, nameOf(fresh.session), word));
	});
}
