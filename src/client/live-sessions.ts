/** All sessions and what is held of them, kept as they are by the feed: listed once, and nothing is asked for again but what has changed. */

import type { ApprovalMessage } from "../protocol/asking.ts";
import type { FeedEvent } from "../protocol/feed.ts";
import { isEnded, type Listed } from "./attention.ts";
import type { Client } from "./client.ts";
import { HawserError } from "./error.ts";
import { pause } from "./times.ts";

export type LiveConnection =
	/** The first list has not come yet. */
	| { readonly kind: "loading" }
	/** `answerMs` is how long the server took for the last list. */
	| { readonly kind: "live"; readonly answerMs: number }
	/** Both in milliseconds since the epoch. */
	| { readonly kind: "cut"; readonly since: number; readonly retryAt: number };

export type LiveSessionsOptions = {
	/** Hears of every change, of sessions and of the connection; the maps themselves never change. */
	readonly onChange: () => void;
	/** Hears of what was refused for good: nothing is followed any more. */
	readonly onRefused: (error: HawserError) => void;
	/** Hears of one that is not as it was; `before` is undefined for one that was not known. What a list brings is no news. */
	readonly onSession?: (after: Listed, before: Listed | undefined) => void;
	/** Hears of an act that is held since we follow. */
	readonly onHeld?: (approval: ApprovalMessage) => void;
};

/** When so many have changed at once, one list costs less than asking for each. */
const MANY = 10;
/** What changes within this time is asked for together. */
const GATHER_MS = 30;
/** Before everything is asked for anew. */
const AGAIN_MS = 1_000;

export class LiveSessions {
	readonly #client: Client;
	readonly #options: LiveSessionsOptions;
	readonly #stale = new Set<string>();
	/** Those that were asked for and not told yet: what happens to them meanwhile may be younger than the answer. */
	readonly #asked = new Set<string>();
	#all: ReadonlyMap<string, Listed> = new Map();
	/** Undefined before the first list. */
	#held: readonly ApprovalMessage[] | undefined;
	#isHeldStale = false;
	#isListingHeld = false;
	#connection: LiveConnection = { kind: "loading" };
	#following: AbortController | undefined;
	#cursor: string | undefined;
	#gathering: ReturnType<typeof setTimeout> | undefined;

	constructor(client: Client, options: LiveSessionsOptions) {
		this.#client = client;
		this.#options = options;
	}

	/** By their ids. */
	get all(): ReadonlyMap<string, Listed> {
		return this.#all;
	}

	/** What waits to be approved, oldest first. */
	get held(): readonly ApprovalMessage[] {
		return this.#held ?? [];
	}

	get connection(): LiveConnection {
		return this.#connection;
	}

	/** Follows from now on; when it does already, it tries at once, which is what somebody wants who can't wait. */
	follow(): void {
		this.#following?.abort();
		const following = new AbortController();
		this.#following = following;
		void this.#run(following.signal);
	}

	/** Forgets everything. */
	stop(): void {
		this.#following?.abort();
		this.#following = undefined;
		this.#cursor = undefined;
		clearTimeout(this.#gathering);
		this.#gathering = undefined;
		this.#stale.clear();
		this.#asked.clear();
		this.#all = new Map();
		this.#held = undefined;
		this.#connection = { kind: "loading" };
		this.#options.onChange();
	}

	/** Somebody here has answered it, before the feed tells that it waits no more. */
	answered(id: string): void {
		const session = this.#all.get(id);
		if (session?.overview) this.#put([{ ...session, overview: { ...session.overview, waiting: null } }]);
	}

	/** Somebody here has decided on it, before the feed tells. */
	decided(approval: string): void {
		this.#held = this.held.filter(({ id }) => id !== approval);
		this.#options.onChange();
	}

	/** A session that was just started, or was asked for by itself. */
	know(session: Listed): void {
		if (this.#asked.has(session.id)) this.#askFor(session.id);
		this.#put([session]);
	}

	async #run(signal: AbortSignal): Promise<void> {
		while (!signal.aborted) {
			try {
				await this.#followOnce(signal);
			} catch (error) {
				if (signal.aborted) return;
				if (!(error instanceof HawserError)) throw error;
				if (error.status === 401) return this.#options.onRefused(error);
				// It went away between telling us of the list and giving it: as if we had never been there.
				this.#cursor = undefined;
				this.#cut(AGAIN_MS);
				await pause(AGAIN_MS, signal);
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
				if (connection.state === "disconnected") return this.#cut(connection.retryMs);
				// Without a cursor the list comes first, and says how long it took.
				if (this.#cursor === undefined) return;
				// What a server held that has ended meanwhile is never told to be over.
				void this.#listHeld();
				this.#live(undefined);
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
		const held = this.#listHeld();
		const sessions: Listed[] = await this.#client.sessions.list({ overview: true }, { signal });
		const answerMs = performance.now() - begun;
		// Together: who is known to need somebody from the beginning is no news.
		await held;
		if (signal.aborted) return;
		const before = this.#all;
		this.#all = new Map(sessions.map((session) => [session.id, withKnownWait(session, before.get(session.id))]));
		this.#live(answerMs);
		for (const session of sessions) if (isUntold(session)) this.#askFor(session.id);
	}

	/** One list at a time: what changes meanwhile is in the next. */
	async #listHeld(): Promise<void> {
		this.#isHeldStale = true;
		if (this.#isListingHeld) return;
		this.#isListingHeld = true;
		while (this.#isHeldStale) {
			this.#isHeldStale = false;
			const held = await ifThere(this.#client.approvals.list());
			if (held && this.#following) this.#putHeld(held);
		}
		this.#isListingHeld = false;
	}

	#putHeld(held: readonly ApprovalMessage[]): void {
		const known = this.#held && new Set(this.#held.map(({ id }) => id));
		this.#held = held;
		this.#options.onChange();
		for (const approval of held) if (known && !known.has(approval.id)) this.#options.onHeld?.(approval);
	}

	#hear(event: FeedEvent): void {
		const { id } = event.session;
		if (event.type === "approval") void this.#listHeld();
		if (event.type === "removed") {
			this.#stale.delete(id);
			this.#asked.delete(id);
			const rest = new Map(this.#all);
			rest.delete(id);
			this.#all = rest;
			this.#options.onChange();
			return;
		}
		const known = this.#all.get(id);
		if (isStale(event) || this.#asked.has(id)) this.#askFor(id);
		else if (known) this.#put([withNews(known, event)]);
	}

	#askFor(id: string): void {
		this.#stale.add(id);
		this.#gathering ??= setTimeout(() => this.#refresh(), GATHER_MS);
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
		this.#put(told.filter(({ id }) => this.#asked.delete(id)));
		for (const id of ids) this.#asked.delete(id);
		for (const id of ids) if (this.#stale.has(id)) this.#askFor(id);
	}

	#put(sessions: readonly Listed[]): void {
		const before = this.#all;
		const after = new Map(before);
		for (const session of sessions) {
			const known = before.get(session.id);
			after.set(session.id, withKnownWait({ ...known, ...session }, known));
		}
		this.#all = after;
		this.#options.onChange();
		for (const { id } of sessions) {
			const session = after.get(id);
			if (session) this.#options.onSession?.(session, before.get(id));
		}
	}

	#live(answerMs: number | undefined): void {
		const known = this.#connection.kind === "live" ? this.#connection.answerMs : 0;
		this.#connection = { kind: "live", answerMs: answerMs ?? known };
		this.#options.onChange();
	}

	#cut(retryMs: number): void {
		const since = this.#connection.kind === "cut" ? this.#connection.since : Date.now();
		this.#connection = { kind: "cut", since, retryAt: Date.now() + retryMs };
		this.#options.onChange();
	}
}

/** A server that has just begun to follow does not know yet who waits; whoever did waits on until it says otherwise. */
function withKnownWait(session: Listed, before: Listed | undefined): Listed {
	const waiting = before?.overview?.waiting;
	if (!session.overview || session.overview.waiting !== undefined || waiting === undefined) return session;
	return isEnded(session) ? session : { ...session, overview: { ...session.overview, waiting } };
}

/** Whether it has ended, so that no news will tell how it looks, and its keeper did not answer in time: it is asked once more. */
function isUntold({ state, offsets, overview }: Listed): boolean {
	return isEnded({ state }) && offsets.end > 0 && overview?.lastOutputAt === null;
}

/** What the news say by themselves: its name, and how it looks. */
function withNews(session: Listed, { overview, session: { name } }: FeedEvent): Listed {
	return { ...session, name, ...(overview ? { overview } : {}) };
}

/** Whether the session must be asked for again: it has begun, or has ended. */
function isStale({ type }: FeedEvent): boolean {
	return type === "created" || type === "exited" || type === "closed" || type === "lost";
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
