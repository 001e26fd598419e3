/** Searches all output of a session: the server finds the matches, the terminal shows them. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import type { ISearchOptions, SearchAddon } from "@xterm/addon-search";
import type { SearchMatch, Session } from "hawser/client";
import type { SessionTerminal } from "./session-terminal.ts";
import type { TokenReader } from "./theme.ts";

type SearchState = {
	readonly query: string;
	/** Index of the displayed match, from 1; 0 for none. */
	readonly position: number;
	/** Matching lines in the whole output; matches in the loaded part. */
	readonly total: number;
	readonly isSearching: boolean;
};

/**
 * Maximum number of matches counted.
 * @limit matches of a search in a page's terminal | the search ends, and says so
 */
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

	/** Shows the newest match and counts all matches. */
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
			// A newer query was made, or the server is unreachable. The loaded output was searched.
		}
		if (!asked.aborted) this.#counted({ isSearching: false });
	}

	async next(): Promise<void> {
		(await this.#searching()).findNext(this.#state.value.query, this.#looks());
	}

	/** Shows the previous match, loading older output if necessary. */
	async previous(): Promise<void> {
		const addon = await this.#searching();
		const { query } = this.#state.value;
		const { index, count } = this.#loaded;
		const earlier = this.#matches[this.#matches.length - count - 1];
		const mustLoad = index <= 0 && earlier !== undefined;
		if (mustLoad) await this.#terminal.showFrom(earlier.line);
		// Reloaded output is searched from its end, so skip the matches seen before.
		for (let step = mustLoad ? count : 0; step >= 0; step--) addon.findPrevious(query, this.#looks());
	}

	async close(): Promise<void> {
		this.#asking.abort();
		(await this.#addon)?.clearDecorations();
		this.#change({ query: "", position: 0, total: 0, isSearching: false });
	}

	/** Loads the addon on first use. */
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
