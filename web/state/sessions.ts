/** All sessions, kept as they are by the feed: listed once, and nothing is asked for again but what has changed. */

import { batch, type ReadonlySignal, signal } from "@preact/signals-core";
import { type Client, type FeedEvent, HawserError } from "hawser/client";
import { isStale, type Listed, withNews } from "./listed.ts";

export type Connection =
	/** The first list has not come yet. */
	| { readonly kind: "loading" }
	/** `answerMs` is how long the server took for the last list. */
	| { readonly kind: "live"; readonly answerMs: number }
	| { readonly kind: "cut"; readonly since: number; readonly retryAt: number };

/** What happened to a session just now, for those who tell people. */
export type News = { readonly kind: "waits" | "ended"; readonly session: Listed };

/** When so many have changed at once, one list costs less than asking for each. */
const MANY = 10;
/** What changes within this time is asked for together. */
const GATHER_MS = 30;
/** Before everything is asked for anew. */
const AGAIN_MS = 1_000;

export class SessionList {
	readonly #client: Client;
	readonly #onSignedOut: () => void;
	readonly #onApprovals: () => void;
	readonly #all = signal<ReadonlyMap<string, Listed>>(new Map());
	readonly #connection = signal<Connection>({ kind: "loading" });
	readonly #listeners = new Set<(news: News) => void>();
	readonly #stale = new Set<string>();
	/** Those that were asked for and not told yet: what happens to them meanwhile may be younger than the answer. */
	readonly #asked = new Set<string>();
	#following: AbortController | undefined;
	#cursor: string | undefined;
	#gathering: ReturnType<typeof setTimeout> | undefined;

	/** `onApprovals` hears when what waits to be approved may be otherwise. */
	constructor(client: Client, onSignedOut: () => void, onApprovals: () => void) {
		this.#client = client;
		this.#onSignedOut = onSignedOut;
		this.#onApprovals = onApprovals;
	}

	get all(): ReadonlySignal<ReadonlyMap<string, Listed>> {
		return this.#all;
	}

	get connection(): ReadonlySignal<Connection> {
		return this.#connection;
	}

	/** Until the returned function is called. */
	onNews(listener: (news: News) => void): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	/** Follows from now on; when it does already, it tries at once, which is what somebody wants who can't wait. */
	follow(): void {
		this.#following?.abort();
		const following = new AbortController();
		this.#following = following;
		void this.#run(following.signal);
	}

	stop(): void {
		this.#following?.abort();
		this.#following = undefined;
		this.#cursor = undefined;
		clearTimeout(this.#gathering);
		this.#gathering = undefined;
		this.#stale.clear();
		this.#asked.clear();
		batch(() => {
			this.#all.value = new Map();
			this.#connection.value = { kind: "loading" };
		});
	}

	/** Somebody here has answered it, before the feed tells that it waits no more. */
	answered(id: string): void {
		const session = this.#all.peek().get(id);
		if (session?.overview) this.#put({ ...session, overview: { ...session.overview, waiting: null } });
	}

	/** A session that was just started, or was asked for by itself. */
	know(session: Listed): void {
		if (this.#asked.has(session.id)) this.#askFor(session.id);
		this.#put(session);
	}

	async #run(signal: AbortSignal): Promise<void> {
		while (!signal.aborted) {
			try {
				await this.#followOnce(signal);
			} catch (error) {
				if (signal.aborted) return;
				if (!(error instanceof HawserError)) throw error;
				if (error.status === 401) return this.#onSignedOut();
				// It went away between telling us of the list and giving it: as if we had never been there.
				this.#cursor = undefined;
				this.#cut(AGAIN_MS);
				await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
			}
		}
	}

	async #followOnce(signal: AbortSignal): Promise<void> {
		const since = this.#cursor;
		const events = this.#client.events({
			...(since === undefined ? {} : { since }),
			overview: true,
			signal,
			onConnection: (connection) => {
				if (signal.aborted) return;
				if (connection.state === "disconnected") this.#cut(connection.retryMs);
				// Without a cursor the list comes first, and says how long it took.
				else if (this.#cursor !== undefined) this.#live(undefined);
			},
		});
		for await (const item of events) {
			if (item.kind === "event") this.#hear(item.event);
			// The feed waits meanwhile, so that what it tells is younger than the list.
			else await this.#list(signal);
			this.#cursor = item.cursor;
		}
	}

	async #list(signal: AbortSignal): Promise<void> {
		const begun = performance.now();
		this.#onApprovals();
		const sessions: Listed[] = await this.#client.sessions.list({ overview: true }, { signal });
		batch(() => {
			this.#all.value = new Map(sessions.map((session) => [session.id, session]));
			this.#live(performance.now() - begun);
		});
	}

	#hear(event: FeedEvent): void {
		const { id } = event.session;
		if (event.type === "approval") this.#onApprovals();
		if (event.type === "removed") {
			this.#stale.delete(id);
			this.#asked.delete(id);
			const rest = new Map(this.#all.peek());
			rest.delete(id);
			this.#all.value = rest;
			return;
		}
		const known = this.#all.peek().get(id);
		if (isStale(event) || this.#asked.has(id)) this.#askFor(id);
		else if (known) this.#put(withNews(known, event));
	}

	#askFor(id: string): void {
		this.#stale.add(id);
		this.#gathering ??= setTimeout(() => void this.#refresh(), GATHER_MS);
	}

	/** Each is asked for once at a time: of two answers nobody could tell which is the younger. */
	#refresh(): void {
		this.#gathering = undefined;
		const ids = [...this.#stale].filter((id) => !this.#asked.has(id));
		for (const id of ids) this.#stale.delete(id);
		if (ids.length > MANY) void this.#ask(ids, this.#client.sessions.list({ overview: true }));
		else for (const id of ids) void this.#ask([id], this.#info(id));
	}

	async #info(id: string): Promise<Listed[]> {
		return [await this.#client.sessions.at(id).info({ overview: true })];
	}

	async #ask(ids: readonly string[], answer: Promise<Listed[]>): Promise<void> {
		for (const id of ids) this.#asked.add(id);
		const told = (await ifThere(answer)) ?? [];
		// Those of which the feed has told meanwhile that they were removed are not wanted any more.
		batch(() => told.filter(({ id }) => this.#asked.delete(id)).forEach((session) => void this.#put(session)));
		for (const id of ids) this.#asked.delete(id);
		for (const id of ids) if (this.#stale.has(id)) this.#askFor(id);
	}

	#put(session: Listed): void {
		const before = this.#all.peek().get(session.id);
		const after = { ...before, ...session };
		this.#all.value = new Map(this.#all.peek()).set(session.id, after);
		const waiting = after.overview?.waiting;
		if (waiting && waiting.offset !== before?.overview?.waiting?.offset) this.#tell({ kind: "waits", session: after });
		if (before?.state === "running" && after.state !== "running") this.#tell({ kind: "ended", session: after });
	}

	#tell(news: News): void {
		for (const listener of this.#listeners) listener(news);
	}

	#live(answerMs: number | undefined): void {
		const before = this.#connection.peek();
		const known = before.kind === "live" ? before.answerMs : 0;
		this.#connection.value = { kind: "live", answerMs: answerMs ?? known };
	}

	#cut(retryMs: number): void {
		const before = this.#connection.peek();
		const since = before.kind === "cut" ? before.since : Date.now();
		this.#connection.value = { kind: "cut", since, retryAt: Date.now() + retryMs };
	}
}

/** Undefined for what was removed meanwhile, of which the feed tells, and while we are cut off, after which there is a new list. */
async function ifThere<Value>(asked: Promise<Value>): Promise<Value | undefined> {
	try {
		return await asked;
	} catch (error) {
		if (error instanceof HawserError) return undefined;
		throw error;
	}
}
