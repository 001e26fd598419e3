/**
 * All sessions and held actions, kept current by the feed. Lists everything once, and then requests only what changed.
 */

import type { ApprovalMessage, FeedEvent } from "../../api/types.ts";
import { sleep } from "../../async/sleep.ts";
import type { Client } from "../client.ts";
import { HawserError } from "../errors.ts";
import { isEnded, type SessionInfo } from "./needs.ts";

export type LiveConnection =
	/** Before the first list. */
	| { readonly kind: "loading" }
	/** `answerMs` is how long the last list took. */
	| { readonly kind: "live"; readonly answerMs: number }
	/** Both times are in milliseconds since the epoch. */
	| { readonly kind: "disconnected"; readonly since: number; readonly retryAt: number };

export type LiveSessionsOptions = {
	/** Called after every change of sessions or of the connection. The maps themselves are immutable. */
	readonly onChange: () => void;
	/** Called when the server refuses for good. Following stops. */
	readonly onRefused: (error: HawserError) => void;
	/** Called for a changed session; `before` is undefined for a new one. Not called for the initial list. */
	readonly onSession?: (after: SessionInfo, before: SessionInfo | undefined) => void;
	/** Called for an action that is held from now on. */
	readonly onApproval?: (approval: ApprovalMessage) => void;
};

/** If at least this many sessions changed, request one list instead of each session. */
const MANY = 10;
/** Changes within this time are requested together. */
const GATHER_MS = 30;
/** Delay before everything is requested again after an error. */
const AGAIN_MS = 1_000;

export class LiveSessions {
	readonly #client: Client;
	readonly #options: LiveSessionsOptions;
	readonly #staleIds = new Set<string>();
	/** Requested sessions without a response yet. An event may be newer than the response. */
	readonly #asked = new Set<string>();
	#all: ReadonlyMap<string, SessionInfo> = new Map();
	/** Undefined before the first list. */
	#held: readonly ApprovalMessage[] | undefined;
	#isHeldStale = false;
	#isListingHeld = false;
	#connection: LiveConnection = { kind: "loading" };
	#following: AbortController | undefined;
	#cursor: string | undefined;
	#batchTimer: ReturnType<typeof setTimeout> | undefined;

	constructor(client: Client, options: LiveSessionsOptions) {
		this.#client = client;
		this.#options = options;
	}

	/** Sessions by ID. */
	get all(): ReadonlyMap<string, SessionInfo> {
		return this.#all;
	}

	/** Held actions, oldest first. */
	get held(): readonly ApprovalMessage[] {
		return this.#held ?? [];
	}

	get connection(): LiveConnection {
		return this.#connection;
	}

	/** Starts to follow; if already following, reconnects at once. */
	follow(): void {
		this.#following?.abort();
		const following = new AbortController();
		this.#following = following;
		void this.#run(following.signal);
	}

	/** Stops following, and forgets everything. */
	stop(): void {
		this.#following?.abort();
		this.#following = undefined;
		this.#cursor = undefined;
		clearTimeout(this.#batchTimer);
		this.#batchTimer = undefined;
		this.#staleIds.clear();
		this.#asked.clear();
		this.#all = new Map();
		this.#held = undefined;
		this.#connection = { kind: "loading" };
		this.#options.onChange();
	}

	/** Records an answer given in this client, before the feed reports that the program stopped waiting. */
	markAnswered(id: string): void {
		const session = this.#all.get(id);
		if (!session?.overview) return;
		this.#put([{ ...session, overview: { ...session.overview, waiting: null, activeAt: Date.now() } }]);
	}

	/** The same for the dialog of an agent. The agent may already show the next one. */
	markDialogAnswered(id: string, episode: number): void {
		const session = this.#all.get(id);
		const { agent } = session?.overview ?? {};
		if (!session?.overview || agent?.state !== "blocked" || agent.episode !== episode) return;
		const answered = { ...agent, state: "working" as const, kind: null, question: null, details: null, choices: [] };
		this.#put([{ ...session, overview: { ...session.overview, agent: answered } }]);
	}

	/** Records a decision made in this client, before the feed reports it. */
	removeApproval(approval: string): void {
		this.#held = this.held.filter(({ id }) => id !== approval);
		this.#options.onChange();
	}

	/** Adds a session that was just started or requested. */
	upsert(session: SessionInfo): void {
		if (this.#asked.has(session.id)) this.#markStale(session.id);
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
				// The server failed between the first event and the list. Start over.
				this.#cursor = undefined;
				this.#disconnected(AGAIN_MS);
				await sleep(AGAIN_MS, signal);
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
				if (connection.state === "disconnected") return this.#disconnected(connection.retryMs);
				// Without a cursor, the list follows, and reports how long it took.
				if (this.#cursor === undefined) return;
				// Approvals end with their server, so a new one does not report them as decided.
				void this.#listHeld();
				this.#live(undefined);
			},
		});
		for await (const item of events) {
			if (item.kind === "event") this.#onEvent(item.event);
			// The feed is paused meanwhile, so its next events are newer than the list.
			else await this.#list(signal);
			this.#cursor = item.cursor;
		}
	}

	async #list(signal: AbortSignal): Promise<void> {
		const begun = performance.now();
		const held = this.#listHeld();
		const sessions: SessionInfo[] = await this.#client.sessions.list({ overview: true }, { signal });
		const answerMs = performance.now() - begun;
		// Await both: initial needs must not count as new.
		await held;
		if (signal.aborted) return;
		const before = this.#all;
		this.#all = new Map(sessions.map((session) => [session.id, withKnownWait(session, before.get(session.id))]));
		this.#live(answerMs);
		for (const session of sessions) if (needsRefresh(session)) this.#markStale(session.id);
	}

	/** One request at a time; changes during a request trigger another one. */
	async #listHeld(): Promise<void> {
		this.#isHeldStale = true;
		if (this.#isListingHeld) return;
		this.#isListingHeld = true;
		while (this.#isHeldStale) {
			this.#isHeldStale = false;
			const held = await orUndefined(this.#client.approvals.list());
			if (held && this.#following) this.#putHeld(held);
		}
		this.#isListingHeld = false;
	}

	#putHeld(held: readonly ApprovalMessage[]): void {
		const known = this.#held && new Set(this.#held.map(({ id }) => id));
		this.#held = held;
		this.#options.onChange();
		for (const approval of held) if (known && !known.has(approval.id)) this.#options.onApproval?.(approval);
	}

	#onEvent(event: FeedEvent): void {
		const { id } = event.session;
		if (event.type === "approval") void this.#listHeld();
		if (event.type === "removed") {
			this.#staleIds.delete(id);
			this.#asked.delete(id);
			const rest = new Map(this.#all);
			rest.delete(id);
			this.#all = rest;
			this.#options.onChange();
			return;
		}
		const known = this.#all.get(id);
		if (isStale(event) || this.#asked.has(id)) this.#markStale(id);
		else if (known) this.#put([applyEvent(known, event)]);
	}

	#markStale(id: string): void {
		this.#staleIds.add(id);
		this.#batchTimer ??= setTimeout(() => this.#refresh(), GATHER_MS);
	}

	/** One request per session at a time, because the order of two responses is unknown. */
	#refresh(): void {
		this.#batchTimer = undefined;
		const ids = [...this.#staleIds].filter((id) => !this.#asked.has(id));
		for (const id of ids) this.#staleIds.delete(id);
		if (ids.length > MANY) void this.#ask(ids, this.#client.sessions.list({ overview: true }));
		else for (const id of ids) void this.#ask([id], this.#info(id));
	}

	async #info(id: string): Promise<SessionInfo[]> {
		return [await this.#client.sessions.at(id).info({ overview: true })];
	}

	async #ask(ids: readonly string[], answer: Promise<SessionInfo[]>): Promise<void> {
		for (const id of ids) this.#asked.add(id);
		const sessions = (await orUndefined(answer)) ?? [];
		// Skip sessions that the feed has removed meanwhile.
		this.#put(sessions.filter(({ id }) => this.#asked.delete(id)));
		for (const id of ids) this.#asked.delete(id);
		for (const id of ids) if (this.#staleIds.has(id)) this.#markStale(id);
	}

	#put(sessions: readonly SessionInfo[]): void {
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

	#disconnected(retryMs: number): void {
		const since = this.#connection.kind === "disconnected" ? this.#connection.since : Date.now();
		this.#connection = { kind: "disconnected", since, retryAt: Date.now() + retryMs };
		this.#options.onChange();
	}
}

/**
 * A server that has just started to inspect programs does not know what they wait for. Keep the known wait until it
 * says otherwise.
 */
function withKnownWait(session: SessionInfo, before: SessionInfo | undefined): SessionInfo {
	const waiting = before?.overview?.waiting;
	if (!session.overview || session.overview.waiting !== undefined || waiting === undefined) return session;
	return isEnded(session) ? session : { ...session, overview: { ...session.overview, waiting } };
}

/**
 * Whether an ended session was listed without its details, because its keeper was slow. No event will follow, so
 * request it again.
 */
function needsRefresh({ state, offsets, overview }: SessionInfo): boolean {
	return isEnded({ state }) && (offsets?.end ?? 0) > 0 && overview?.lastOutputAt === null;
}

/** Applies what the event itself contains: the name, and the overview or the agent. */
function applyEvent(session: SessionInfo, { overview, agent, session: { name } }: FeedEvent): SessionInfo {
	const isKnown = session.overview !== undefined && agent !== undefined;
	const known = isKnown ? { overview: { ...session.overview, agent } } : {};
	return { ...session, name, ...known, ...(overview ? { overview } : {}) };
}

/** Whether the event requires a request for the session: it started or ended. */
function isStale({ type }: FeedEvent): boolean {
	return type === "created" || type === "exited" || type === "closed" || type === "lost";
}

/**
 * Undefined if the session was removed meanwhile, which the feed reports, or if the connection is lost, after which a
 * new list follows.
 */
async function orUndefined<Value>(asked: Promise<Value>): Promise<Value | undefined> {
	try {
		return await asked;
	} catch (error) {
		if (error instanceof HawserError) return undefined;
		throw error;
	}
}
