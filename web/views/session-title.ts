/** The start of a header: the session's name, directory and program. */

import { commandText, needOf, type SessionInfo } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import type { App } from "../state/app.ts";
import { glyph } from "./icons.ts";
import { sessionState } from "./session-state.ts";
import { nameOf } from "./text.ts";

/** `title` is the program's own title, which is untrusted text. */
export function sessionTitle(app: App, session: SessionInfo, title = ""): TemplateResult {
	const { place, program } = whereAndWhat(session, title);
	return html`${sessionGlyph(app, session)}
		<h1 class="name ell" tabindex="-1">${nameOf(session)}</h1>
		${place === undefined ? nothing : html`<span class="cwd mono ell">${place}</span><span class="sep"></span>`}
		<span class="command mono ell grow">${program}</span>`;
}

/** Titles set by shells: `ada@host: ~/src`. */
const SHELL_TITLE = /^[^\s@]+@[^\s:]+: ?([~/].*)$/;

/** Directory and activity. A shell's title has the current directory, which is better than the start directory. */
export function whereAndWhat(
	{ cwd, argv }: Pick<SessionInfo, "cwd" | "argv">,
	title: string,
): { readonly place: string | undefined; readonly program: string } {
	const place = SHELL_TITLE.exec(title)?.[1];
	if (place !== undefined) return { place, program: commandText(argv) };
	return { place: /[~/]/.test(title) ? undefined : cwd, program: title || commandText(argv) };
}

/** The icon as in lists, with its word for screen readers. */
export function sessionGlyph(app: App, session: SessionInfo): TemplateResult {
	const now = app.clock.now.value;
	const listed = app.sessions.all.value.get(session.id);
	// This page learns first that the session has ended.
	const known = listed && session.state === "running" ? listed : session;
	const state = sessionState(known, needOf(known, app.circumstances.value), now);
	return html`${glyph(state.glyph)}<span class="vh">${state.word}</span>`;
}
