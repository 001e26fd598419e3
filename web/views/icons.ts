/** Icons for session states and buttons, from the page's sprite. A word is always next to them. */

import { html, svg, type TemplateResult } from "lit-html";

export type StateGlyph = "wait" | "secret" | "bad" | "quiet" | "run" | "idle" | "ok" | "stop" | "lost";

type Icon =
	| "back"
	| "book"
	| "cog"
	| "copy"
	| "down"
	| "eye"
	| "file"
	| "grid"
	| "kbd"
	| "list"
	| "lock"
	| "more"
	| "next"
	| "pause"
	| "play"
	| "plus"
	| "prev"
	| "rewind"
	| "search"
	| "share"
	| "users"
	| "x";

export function glyph(state: StateGlyph, size = 16): TemplateResult {
	return html`<svg class="g g-${state}" width=${size} height=${size} aria-hidden="true">${use(`s-${state}`)}</svg>`;
}

export function icon(name: Icon, size = 16): TemplateResult {
	return html`<svg class="icon" width=${size} height=${size} aria-hidden="true">${use(`i-${name}`)}</svg>`;
}

export function mark(size: number): TemplateResult {
	return html`<svg class="mark" width=${size} height=${size} aria-hidden="true">${use("mark")}</svg>`;
}

function use(id: string): TemplateResult<2> {
	return svg`<use href="#${id}"></use>`;
}
