/** Looks for text in the output of many sessions, one after the other, those first that have written last. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { type Client, HawserError, type Listed, lastActive, type SearchMatch } from "hawser/client";

/** A session that has it, and the newest line in which it does. */
export type Found = { readonly session: Listed; readonly line: SearchMatch };

type OutputSearchState = {
	/** Empty while nothing was looked for. */
	readonly query: string;
	readonly found: readonly Found[];
	/** How many sessions were searched, of how many. */
	readonly searched: number;
	readonly total: number;
};

/** How many sessions are searched, and how many of those that have it are told: each search is a process of the server. */
const MOST_SESSIONS = 100;
const MOST_FOUND = 8;
/** Of one session so many lines are gone through for the newest. */
const MOST_LINES = 1000;

const NOTHING: OutputSearchState = { query: "", found: [], searched: 0, total: 0 };

export class OutputSearch {
	readonly #client: Client;
	readonly #state = signal<OutputSearchState>(NOTHING);
	#asking = new AbortController();

	constructor(client: Client) {
		this.#client = client;
	}

	get state(): ReadonlySignal<OutputSearchState> {
		return this.#state;
	}

	/** Resolves when all were searched, or enough have it. Another question ends this one. */
	async find(query: string, sessions: Iterable<Listed>): Promise<void> {
		this.clear();
		const { signal: asked } = this.#asking;
		const searched = [...sessions].sort((a, b) => lastActive(b) - lastActive(a)).slice(0, MOST_SESSIONS);
		this.#state.value = { ...NOTHING, query, total: searched.length };
		for (const session of searched) {
			const line = await this.#newest(session, query, asked);
			if (asked.aborted) return;
			const { found, searched: before, total } = this.#state.peek();
			const all = line ? [...found, { session, line }] : found;
			const isEnough = all.length === MOST_FOUND;
			this.#state.value = { query, found: all, searched: before + 1, total: isEnough ? before + 1 : total };
			if (isEnough) return;
		}
	}

	clear(): void {
		this.#asking.abort();
		this.#asking = new AbortController();
		this.#state.value = NOTHING;
	}

	/** Undefined also of one that can't be searched now: others can. */
	async #newest({ id }: Listed, query: string, asked: AbortSignal): Promise<SearchMatch | undefined> {
		let newest: SearchMatch | undefined;
		let count = 0;
		try {
			for await (const match of this.#client.sessions.at(id).search(query, { ignoreCase: true, signal: asked })) {
				newest = match;
				if (++count === MOST_LINES) break;
			}
		} catch (error) {
			if (!(error instanceof HawserError) && !asked.aborted) throw error;
		}
		return newest;
	}
}
