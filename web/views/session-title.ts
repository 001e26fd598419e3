/** What a session is called, where and what it runs: the beginning of a header. */

import { html, type TemplateResult } from "lit-html";
import type { App } from "../state/app.ts";
import { needOf } from "../state/attention.ts";
import type { Listed } from "../state/listed.ts";
import { describe } from "./describe.ts";
import { glyph } from "./glyph.ts";
import { commandLine, nameOf } from "./words.ts";

/** `title` is what the program calls itself, which is text like any other. */
export function sessionTitle(app: App, session: Listed, title = ""): TemplateResult {
	return html`${sessionGlyph(app, session)}
		<h1 class="name ell" tabindex="-1">${nameOf(session)}</h1>
		<span class="cwd mono ell">${session.cwd}</span>
		<span class="sep"></span>
		<span class="command mono ell grow">${title || commandLine(session.argv)}</span>`;
}

/** As in lists, with the word for those who do not see it. */
export function sessionGlyph(app: App, session: Listed): TemplateResult {
	const now = app.clock.now.value;
	const listed = app.sessions.all.value.get(session.id);
	// The page itself knows first that it has ended.
	const known = listed && session.state === "running" ? listed : session;
	const state = describe(known, needOf(known, { now, dismissed: app.dismissed.value }), now);
	return html`${glyph(state.glyph)}<span class="vh">${state.word}</span>`;
}
