/** What a session is called, where and what it runs: the beginning of a header. */

import type { SessionMessage } from "hawser/client";
import { html, type TemplateResult } from "lit-html";
import { glyph } from "./glyph.ts";
import { commandLine, nameOf } from "./words.ts";

export function sessionTitle(session: SessionMessage): TemplateResult {
	return html`${sessionGlyph(session)}
		<h1 class="name ell" tabindex="-1">${nameOf(session)}</h1>
		<span class="cwd mono ell">${session.cwd}</span>
		<span class="sep"></span>
		<span class="command mono ell grow">${commandLine(session.argv)}</span>`;
}

export function sessionGlyph({ state, exit }: Pick<SessionMessage, "state" | "exit">): TemplateResult {
	if (state === "running") return glyph("run");
	if (state === "lost") return glyph("lost");
	if (exit?.reason === "killed" || exit?.reason === "timeout" || exit?.reason === "idle") return glyph("stop");
	return glyph(exit?.code === 0 ? "ok" : "bad");
}
