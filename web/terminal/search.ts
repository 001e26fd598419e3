/** Looks for text in all that a session has written: the server says where it is, the terminal shows it. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import type { ISearchOptions, SearchAddon } from "@xterm/addon-search";
import type { SearchMatch, Session } from "hawser/client";
import type { SessionTerminal } from "./terminal.ts";
import type { TokenReader } from "./theme.ts";

type SearchState = {
	readonly query: string;
	/** Which of them is shown, from 1 on; 0 for none. */
	readonly position: number;
	/** How many lines of the whole output have it, and of what is loaded how many places. */
	readonly total: number;
	readonly isSearching: boolean;
};

/** More nobody goes through; the answer says "1000 or more". */
export const MAX_FOUND = 1000;

export class HistorySearch {
	readonly #session: Session;
	readonly #terminal: SessionTerminal;
	readonly #token: TokenReader;
	readonly #state = signal<SearchState>({ query: "", position: 0, total: 0, isSearching: false });
	#addon: Promise<SearchAddon> | undefined;
	#matches: readonly SearchMatch[] = [];
	#loaded = { index: -1, count: 0 };
	#asking = new AbortController();

	constructor(session: Session, terminal: SessionTerminal, token: TokenReader) {
		this.#session = session;
		this.#terminal = terminal;
		this.#token = token;
	}

	get state(): ReadonlySignal<SearchState> {
		return this.#state;
	}

	/** Shows the newest place, and counts all of them meanwhile. */
	async find(query: string): Promise<void> {
		this.#asking.abort();
		this.#asking = new AbortController();
		this.#matches = [];
		this.#change({ query, position: 0, total: 0, isSearching: query !== "" });
		const addon = await this.#searching();
		if (query === "") return addon.clearDecorations();
		const { signal: asked } = this.#asking;
		addon.findPrevious(query, { ...this.#looks(), incremental: false });
		try {
			const matches: SearchMatch[] = [];
			for await (const match of this.#session.search(query, { ignoreCase: true, signal: asked })) {
				matches.push(match);
				if (matches.length >= MAX_FOUND) break;
			}
			this.#matches = matches;
		} catch {
			// Another question was asked, or the server can't be reached: what is loaded was searched all the same.
		}
		if (!asked.aborted) this.#counted({ isSearching: false });
	}

	async next(): Promise<void> {
		(await this.#searching()).findNext(this.#state.value.query, this.#looks());
	}

	/** The place before; when there is none in what is loaded, what is older is loaded. */
	async previous(): Promise<void> {
		const addon = await this.#searching();
		const { query } = this.#state.value;
		const { index, count } = this.#loaded;
		const earlier = this.#matches[this.#matches.length - count - 1];
		const mustLoad = index <= 0 && earlier !== undefined;
		if (mustLoad) await this.#terminal.showFrom(earlier.line);
		// What is drawn again is searched from its end: those that were there before are passed over.
		for (let step = mustLoad ? count : 0; step >= 0; step--) addon.findPrevious(query, this.#looks());
	}

	async close(): Promise<void> {
		this.#asking.abort();
		(await this.#addon)?.clearDecorations();
		this.#change({ query: "", position: 0, total: 0, isSearching: false });
	}

	/** Loaded when it is used for the first time. */
	#searching(): Promise<SearchAddon> {
		this.#addon ??= import("@xterm/addon-search").then(({ SearchAddon }) => {
			const addon = new SearchAddon({ highlightLimit: MAX_FOUND });
			this.#terminal.emulator.xterm.loadAddon(addon);
			addon.onDidChangeResults(({ resultIndex, resultCount }) => {
				this.#loaded = { index: resultIndex, count: resultCount };
				this.#counted({});
			});
			return addon;
		});
		return this.#addon;
	}

	#counted(change: Partial<SearchState>): void {
		const { index, count } = this.#loaded;
		const total = Math.max(this.#matches.length, count);
		this.#change({ total, position: index < 0 ? 0 : total - count + index + 1, ...change });
	}

	#looks(): ISearchOptions {
		const [found, current] = [this.#token("wait-line"), this.#token("wait")];
		return {
			decorations: {
				matchBackground: found,
				matchOverviewRuler: found,
				activeMatchBackground: current,
				activeMatchColorOverviewRuler: current,
			},
		};
	}

	#change(change: Partial<SearchState>): void {
		this.#state.value = { ...this.#state.value, ...change };
	}
}
