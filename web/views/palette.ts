/** The command palette: finds sessions and commands by name. */

import { signal } from "@preact/signals-core";
import { commandText, groupSessions, needOf, type SessionInfo, searchWords } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import { go } from "../router.ts";
import type { App } from "../state/app.ts";
import { noFilter } from "../state/route.ts";
import { themes } from "../state/settings.ts";
import { emptyForm } from "../state/start-form.ts";
import { glyph, icon } from "./icons.ts";
import { mayStart } from "./list-page.ts";
import { modal } from "./modal.ts";
import { open } from "./session-actions.ts";
import { sessionState } from "./session-state.ts";
import { themeNames } from "./settings-page.ts";
import { nameOf } from "./text.ts";

/** More sessions are found by typing more. */
const MOST_SESSIONS = 8;

const query = signal("");
const chosen = signal(0);

type Entry = {
	readonly group: string;
	readonly look: TemplateResult;
	readonly id: string;
	/** Whether the palette stays open, because the result is shown in it. */
	readonly staysOpen?: true;
	act(): unknown;
};

export function palette(app: App): TemplateResult {
	const entries = entriesOf(app, query.value);
	const index = Math.min(chosen.value, Math.max(0, entries.length - 1));
	const close = () => {
		query.value = "";
		chosen.value = 0;
		app.outputSearch.clear();
		app.dialogs.close();
	};
	const choose = (entry: Entry | undefined) => {
		if (!entry) return;
		if (!entry.staysOpen) close();
		void entry.act();
	};
	const press = (event: KeyboardEvent) => {
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (step === undefined && event.key !== "Enter") return;
		event.preventDefault();
		// For the current text, which may not be rendered yet.
		const present = entriesOf(app, query.peek());
		const at = Math.min(chosen.peek(), Math.max(0, present.length - 1));
		if (step !== undefined) chosen.value = (at + step + present.length) % Math.max(1, present.length);
		else choose(event.ctrlKey || event.metaKey ? present.find(({ id }) => id === SEARCH) : present[at]);
	};
	return modal({
		title: "Go to",
		look: "plain",
		close,
		body: html`<div class="pal">
			<label class="q"
				>${icon("search", 18)}<input
					role="combobox"
					aria-label="Go to a session or command"
					aria-expanded="true"
					aria-controls="palette-list"
					aria-activedescendant=${entries[index]?.id ?? nothing}
					autocomplete="off"
					spellcheck="false"
					data-focus
					placeholder="Go to a session or command"
					.value=${query.value}
					@input=${(event: InputEvent) => {
						query.value = (event.currentTarget as HTMLInputElement).value;
						chosen.value = 0;
						app.outputSearch.clear();
					}}
					@keydown=${press}
			/></label>
			<div id="palette-list" role="listbox" aria-label="Sessions and commands">
				${[...new Set(entries.map(({ group }) => group))].map(
					(group) => html`<div role="group" aria-label=${group}>
						<h3 aria-hidden="true">${group}</h3>
						${entries.map((entry, at) =>
							entry.group === group
								? html`<div
										class="it"
										role="option"
										id=${entry.id}
										aria-selected=${at === index ? "true" : "false"}
										@click=${() => choose(entry)}
									>
										${entry.look}${at === index ? html`<kbd>Enter</kbd>` : nothing}
									</div>`
								: nothing,
						)}
					</div>`,
				)}
				${entries.length === 0 ? html`<p class="faint">No match.</p>` : nothing}
			</div>
		</div>`,
	});
}

function entriesOf(app: App, text: string): Entry[] {
	const circumstances = app.circumstances.value;
	const { needing, running, ended } = groupSessions(
		app.sessions.all.value.values(),
		{ ...noFilter, q: text },
		circumstances,
	);
	const sessions = [...needing.map(({ session }) => session), ...running, ...ended].slice(0, MOST_SESSIONS);
	const sought = searchWords(text);
	const commands = commandsOf(app).filter(({ name }) => sought.every((word) => name.toLowerCase().includes(word)));
	const look = (session: SessionInfo) => {
		const state = sessionState(session, needOf(session, circumstances), circumstances.now);
		return html`${glyph(state.glyph)}<b>${nameOf(session)}</b
			><span class="faint mono ell grow">${commandText(session.argv)}</span
			><span class="st ${state.tone}">${state.word}</span>`;
	};
	return [
		...sessions.map((session) => ({
			group: "Sessions",
			id: `go-${session.id}`,
			look: look(session),
			act: () => open(app, session),
		})),
		...inTheOutput(app, text.trim()),
		...commands.map(({ name, key, act }, index) => ({
			group: "Commands",
			id: `do-${index}`,
			look: html`<span class="grow">${name}</span>${key === undefined ? nothing : html`<kbd>${key}</kbd>`}`,
			act,
		})),
	];
}

const SEARCH = "search-all";

/** The entry that searches all sessions' output, then its matches. */
function inTheOutput(app: App, text: string): Entry[] {
	const group = "In the output";
	const { query: sought, found, searched, total } = app.outputSearch.state.value;
	if (text === "") return [];
	const progress = searched < total ? `searched ${searched} of ${total}…` : `found in ${found.length} of ${searched}`;
	const search: Entry = {
		group,
		id: SEARCH,
		staysOpen: true,
		look: html`${icon("search", 14)}<span class="grow ell">Search all sessions for “${text}”</span
			>${sought === "" ? html`<kbd>Ctrl Enter</kbd>` : html`<span class="faint" role="status">${progress}</span>`}`,
		act: () => app.outputSearch.find(text, app.sessions.all.peek().values()),
	};
	const lines = found.map(({ session, line }) => ({
		group,
		id: `found-${session.id}`,
		look: html`${icon("file", 14)}<b>${nameOf(session)}</b><span class="faint mono ell grow">${line.text.trim()}</span>`,
		act: () => go({ view: "session", id: session.id, at: String(line.offset) }),
	}));
	return [search, ...lines];
}

type Command = { readonly name: string; readonly key?: string; act(): unknown };

function commandsOf(app: App): Command[] {
	const starting: Command = {
		name: "Start a session…",
		key: "N",
		act: () => app.dialogs.open({ kind: "start", form: emptyForm }),
	};
	return [
		...(mayStart(app) ? [starting] : []),
		{ name: "Needs you", act: () => go({ view: "list", filter: { ...noFilter, isNeeding: true } }) },
		{ name: "All sessions", act: () => go({ view: "list", filter: noFilter }) },
		{ name: "Grid", act: () => go({ view: "grid", filter: noFilter }) },
		...themes.map((theme) => ({
			name: `Theme: ${themeNames[theme]}`,
			act: () => app.settings.change({ theme }),
		})),
		{ name: "Settings", act: () => go({ view: "settings" }) },
		{ name: "Shortcuts", key: "?", act: () => app.dialogs.open({ kind: "keys" }) },
		{ name: "Sign out", act: () => app.auth.signOut() },
	];
}
