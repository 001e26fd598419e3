/** Searches the output of many sessions, one after the other, starting with the most recently active. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { type Client, HawserError, lastActiveAt, type SearchMatch, type SessionInfo } from "hawser/client";

/** A session with a match, and its newest matching line. */
export type SessionMatch = { readonly session: SessionInfo; readonly line: SearchMatch };

type OutputSearchState = {
	/** Empty before the first search. */
	readonly query: string;
	readonly found: readonly SessionMatch[];
	/** Number of sessions searched, of how many. */
	readonly searched: number;
	readonly total: number;
};

/**
 * Each search is a process on the server.
 * @limit sessions that a page searches: the most recent ones | the others are not searched
 */
const MOST_SESSIONS = 100;
/** @limit sessions with a match in such a search | the search ends */
const MOST_FOUND = 8;
/**
 * Matching lines read per session to find the newest.
 * @limit matching lines of one session in such a search | the search ends
 */
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

	/** Resolves when all sessions were searched or enough matched. A new query cancels this one. */
	async find(query: string, sessions: Iterable<SessionInfo>): Promise<void> {
		this.clear();
		const { signal: asked } = this.#asking;
		const searched = [...sessions].sort((a, b) => lastActiveAt(b) - lastActiveAt(a)).slice(0, MOST_SESSIONS);
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

	/** Also undefined if this session can't be searched now. */
	async #newest({ id }: SessionInfo, query: string, asked: AbortSignal): Promise<SearchMatch | undefined> {
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
