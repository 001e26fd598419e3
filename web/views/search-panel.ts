/** The search field for all output of a session. */

import { html, nothing, type TemplateResult } from "lit-html";
import { type HistorySearch, MAX_FOUND } from "../terminal/history-search.ts";
import { icon } from "./icons.ts";
import { mounted } from "./mounted.ts";
import { size } from "./text.ts";

/** Pause in typing before a search, because each search is a request. */
const PAUSE_MS = 200;

export class SearchPanel {
	readonly #close: () => void;
	#timer: ReturnType<typeof setTimeout> | undefined;

	constructor(close: () => void) {
		this.#close = close;
	}

	template(search: HistorySearch, bytes: number | undefined): TemplateResult {
		const { query, position, total, isSearching } = search.state.value;
		const found = query === "" ? "" : isSearching ? "…" : foundText(position, total);
		return html`<div class="pop search-panel" role="search" aria-label="Search in the output">
			<label class="field">
				${icon("search")}<span class="vh">Text</span>
				<input type="text" autocomplete="off" placeholder="Search all output" @input=${(event: InputEvent) => this.#typed(event, search)} @keydown=${(event: KeyboardEvent) => this.#pressed(event, search)} ${mounted((input) => focused(input))} />
				<span class="faint num" aria-live="polite">${found}</span>
			</label>
			<button class="btn quiet icon up" aria-label="Previous" @click=${() => void search.previous()}>${icon("down")}</button>
			<button class="btn quiet icon" aria-label="Next" @click=${() => void search.next()}>${icon("down")}</button>
			${bytes === undefined ? nothing : html`<span class="faint">in all ${size(bytes)}</span>`}
			<button class="btn quiet icon" aria-label="Close" @click=${() => this.#leave(search)}>${icon("x")}</button>
		</div>`;
	}

	#typed(event: InputEvent, search: HistorySearch): void {
		const { value } = event.currentTarget as HTMLInputElement;
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => void search.find(value), PAUSE_MS);
	}

	#pressed(event: KeyboardEvent, search: HistorySearch): void {
		if (event.key === "Escape") this.#leave(search);
		if (event.key !== "Enter") return;
		event.preventDefault();
		void (event.shiftKey ? search.next() : search.previous());
	}

	#leave(search: HistorySearch): void {
		void search.close();
		this.#close();
	}
}

function focused(input: HTMLElement): () => void {
	input.focus();
	return () => {};
}

function foundText(position: number, total: number): string {
	if (total === 0) return "none";
	return total >= MAX_FOUND ? `${MAX_FOUND} or more` : `${position} of ${total}`;
}
