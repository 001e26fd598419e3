/** Keyboard shortcuts outside of terminals. Single letters count only outside of text fields. */

import { go, route } from "./router.ts";
import type { App } from "./state/app.ts";
import { emptyForm } from "./state/start-form.ts";
import { mayStart } from "./views/list-page.ts";
import { killOrRemove, open } from "./views/session-actions.ts";

export function listenToKeys(app: App): void {
	addEventListener("keydown", (event) => {
		const target = event.target instanceof HTMLElement ? event.target : document.body;
		// In a terminal all keys go to the program; the terminal reports its own shortcuts.
		if (event.defaultPrevented || target.closest(".xterm") || app.auth.state.peek().kind !== "signed-in") return;
		const isTyping = target.closest("input, textarea, select, [contenteditable]") !== null;
		if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
			event.preventDefault();
			app.dialogs.open({ kind: "palette" });
			return;
		}
		if (app.dialogs.current.peek() || event.ctrlKey || event.metaKey || event.altKey) return;
		if (event.key === "Escape" && isTyping) {
			target.closest<HTMLElement>("[data-row]")?.focus();
			return;
		}
		if (isTyping) return;
		const isLetter = event.key.length === 1;
		if (isLetter && !app.settings.current.peek().hasLetterKeys) return;
		if (act(app, event.key)) event.preventDefault();
	});
}

/** Returns whether the key is a shortcut here. */
function act(app: App, key: string): boolean {
	const selected = app.sessions.all.peek().get(app.selected.peek() ?? "");
	const isAtList = route.peek().view === "list";
	switch (key) {
		case "j":
		case "J":
			return nextNeeding(app);
		case "?":
			app.dialogs.open({ kind: "keys" });
			return true;
		case "n":
		case "N":
			if (mayStart(app)) app.dialogs.open({ kind: "start", form: emptyForm });
			return true;
		case "/":
			return focusOn("[data-filter]");
		case "a":
		case "A":
			return isAtList && focusOn(`[data-row="${CSS.escape(selected?.id ?? "")}"] [data-answer]`, "[data-answer]");
		case "r":
		case "R":
			if (isAtList && selected) app.dialogs.open({ kind: "rename", id: selected.id });
			return isAtList;
		case "Delete":
			if (isAtList && selected) killOrRemove(app, selected);
			return isAtList;
		case "Enter":
			if (!isAtList || !selected || document.activeElement?.matches("a, button")) return false;
			open(app, selected);
			return true;
		case "ArrowDown":
			return isAtList && move(1);
		case "ArrowUp":
			return isAtList && move(-1);
		default:
			return false;
	}
}

/** The next row in the list; elsewhere the next session. */
function nextNeeding(app: App): boolean {
	const current = route.peek();
	const needing = current.view === "list" ? app.needing : app.openable;
	const ids = needing.peek().map(({ session }) => session.id);
	if (ids.length === 0) return true;
	const here = current.view === "session" ? current.id : app.selected.peek();
	const next = ids[(ids.indexOf(here ?? "") + 1) % ids.length] ?? "";
	if (current.view === "list") focusOn(`[data-row="${CSS.escape(next)}"]`);
	else go({ view: "session", id: next, at: undefined });
	return true;
}

function move(step: number): boolean {
	const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")];
	const here = rows.findIndex((row) => row.contains(document.activeElement));
	const next = here < 0 ? (rows.find(({ tabIndex }) => tabIndex === 0) ?? rows[0]) : rows[here + step];
	next?.focus();
	return true;
}

function focusOn(...selectors: readonly string[]): boolean {
	for (const selector of selectors) {
		const found = document.querySelector<HTMLElement>(selector);
		found?.focus();
		if (found) return true;
	}
	return true;
}
