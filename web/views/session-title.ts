/** What a session is called, where and what it runs: the beginning of a header. */

import { type Listed, needOf, typedLine } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import type { App } from "../state/app.ts";
import { describe } from "./describe.ts";
import { glyph } from "./glyph.ts";
import { nameOf } from "./words.ts";

/** `title` is what the program calls itself, which is text like any other. */
export function sessionTitle(app: App, session: Listed, title = ""): TemplateResult {
	const { place, program } = whereAndWhat(session, title);
	return html`${sessionGlyph(app, session)}
		<h1 class="name ell" tabindex="-1">${nameOf(session)}</h1>
		${place === undefined ? nothing : html`<span class="cwd mono ell">${place}</span><span class="sep"></span>`}
		<span class="command mono ell grow">${program}</span>`;
}

/** How shells call themselves: `ada@host: ~/src`. */
const SHELL_TITLE = /^[^\s@]+@[^\s:]+: ?([~/].*)$/;

/** Where it is, unless its title says that already, which knows better than where it was started; and what it does. */
export function whereAndWhat(
	{ cwd, argv }: Pick<Listed, "cwd" | "argv">,
	title: string,
): { readonly place: string | undefined; readonly program: string } {
	const place = SHELL_TITLE.exec(title)?.[1];
	if (place !== undefined) return { place, program: typedLine(argv) };
	return { place: /[~/]/.test(title) ? undefined : cwd, program: title || typedLine(argv) };
}

/** As in lists, with the word for those who do not see it. */
export function sessionGlyph(app: App, session: Listed): TemplateResult {
	const now = app.clock.now.value;
	const listed = app.sessions.all.value.get(session.id);
	// The page itself knows first that it has ended.
	const known = listed && session.state === "running" ? listed : session;
	const state = describe(known, needOf(known, app.circumstances.value), now);
	return html`${glyph(state.glyph)}<span class="vh">${state.word}</span>`;
}
