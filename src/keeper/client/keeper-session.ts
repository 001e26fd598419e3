/**
 * A session in a keeper, as the server uses it. While the keeper lives, requests go there. Once it is gone, its output
 * is read from the journal. A cursor continues across broken links, and from keeper to journal, at its exact position.
 */

import { valueWithin } from "../../core/async/deadline.ts";
import { Listeners } from "../../core/async/listeners.ts";
import { SessionError } from "../../core/errors.ts";
import type { Receipt } from "../../core/input/action.ts";
import { INPUT_WINDOW_BYTES } from "../../core/input/input-queue.ts";
import type { FollowOptions } from "../../core/log/cursor.ts";
import type { Item, LogPosition, Start } from "../../core/log/event.ts";
import { isEnded, isSame, type State } from "../../core/log/session-state.ts";
import type { Operation, OperationRequest, Operations } from "../../core/session/operations.ts";
import { Session, type SessionSummary } from "../../core/session/session.ts";
import type { SessionDetails, SessionInfo, SessionSpec } from "../../core/session/session-info.ts";
import type { ReplySource, SelfReplyRange } from "../../core/terminal/replies.ts";
import { LATE_MS } from "../../core/terminal/replies.ts";
import { isRepeatable, requestTraits } from "../link/messages.ts";
import type { ReportedEnd } from "../link/session-record.ts";
import { type ArchivedSession, NO_LEASE, wasRemoved } from "./archived-session.ts";
import { type KeeperLink, KeeperSilent, LinkLost, type ReportedState } from "./keeper-link.ts";
import { type Home, isLink, isPassing, type Readers, SessionCursor } from "./session-cursor.ts";
import { SharedMirror } from "./shared-tail.ts";
import { hasEnded, type Standing, standingOf } from "./standing.ts";

/** Retries over new links before a request fails. */
const MAX_TRIES = 10;
/**
 * Default timeout for a keeper's description of its session.
 * @limit a keeper's description of its session | the last known state
 */
const INFO_MS = 500;
/**
 * How long a caller waits for a link to the keeper. Also the timeout of a keeper's first description of its session.
 * @limit a link to a keeper, after a restart for instance; 10 s for each item of a bounded read | `node_unavailable`,
 * and `offsets: null` in a list; attachments and event streams wait
 */
const LINK_MS = 5_000;
/**
 * How long the keeper may take to store its session's end before the server does.
 * @limit a keeper's record of its session's end | the server writes it to `reported-end.json`
 */
const WRITTEN_MS = 500;
/**
 * A keeper that has not answered for this long counts as unreachable.
 * @limit an unanswered request to a keeper | the session is `unreachable`
 */
const SILENT_MS = 400;

type KeeperDetails = Omit<SessionDetails, keyof State>;

/** Services that a session needs when it has lost its link. */
export interface Finder {
	/**
	 * Finds the keeper or the archived session. Rejects only if the session was removed or another server has taken over.
	 */
	find(session: KeeperSession): Promise<Home>;
	/** The session's directory was deleted, moved or replaced while its keeper runs. Never rejects. */
	removed(session: KeeperSession): Promise<void>;
	/** Resolves after a delay that grows with the number of tries. */
	pause(tries: number): Promise<void>;
	/** Stores a reported end for later servers, unless the keeper has stored it. Never rejects. */
	rememberEnd(session: KeeperSession, reported: ReportedEnd): Promise<void>;
	/** Marks a named point of the code, at which tests crash the server. */
	passed(point: string): void;
	/** The same after each item that was delivered. */
	readonly onDelivered: (() => void) | undefined;
}

export class KeeperSession extends Session {
	readonly gone: Promise<void>;
	#resolveGone: () => void = () => {};
	readonly #finder: Finder;
	/** The keeper's last report, or the record before that. */
	#standing: Standing;
	/** The state that watchers know. */
	#state: State;
	readonly #watchers = new Listeners<State>();
	/** The keeper or the archive; undefined while it is unknown which. */
	#home: Home | undefined;
	#finding: Promise<void> | undefined;
	/** Set when requests can never succeed again: removed, superseded, or the server shuts down. */
	#refusal: SessionError | undefined;
	readonly #readers: Readers;
	#details: SessionDetails | undefined;
	/** Monotonic time at which the last link broke. */
	#lostAt = 0;
	/** Set while a terminal replies to queries. Called for ranges in which the session replied itself. */
	#onOwnReplies: ((part: SelfReplyRange) => void) | undefined;
	/** The keeper may have delegated replies again, but its report about its own replies was lost with the link. */
	#isOwnPartLost = false;
	#asking: { readonly answer: Promise<SessionDetails>; readonly since: number } | undefined;

	constructor(spec: SessionSpec, standing: Standing, finder: Finder) {
		super(spec);
		this.gone = new Promise((resolve) => {
			this.#resolveGone = resolve;
		});
		this.#standing = standing;
		this.#state = standing.state;
		this.#finder = finder;
		this.#readers = {
			located: (wait) => this.#located(wait),
			tail: new SharedMirror(),
			pause: (tries) => finder.pause(tries),
			onDelivered: finder.onDelivered,
			seen: undefined,
			attached: 0,
		};
	}

	get state(): State {
		return this.#state;
	}

	watch(listener: (state: State) => void): () => void {
		return this.#watchers.add(listener);
	}

	get seen(): LogPosition | undefined {
		return this.#readers.seen;
	}

	get standing(): Standing {
		return this.#standing;
	}

	/** A link to the keeper was made. */
	connected(link: KeeperLink): void {
		this.#home = link;
		// Lists need details before the keeper's next response: there may be hundreds of sessions.
		this.#details = link.details ?? this.#details;
		if (link.greetedAt && link.greetedAt.seq > (this.#readers.seen?.seq ?? 0)) this.#readers.seen = link.greetedAt;
		link.onState = (reported) => this.#learn(link, reported);
		link.onClose = (refusal) => this.#disconnected(refusal);
		link.onGone = () => this.#resolveGone();
		link.onRemoved = () => void this.#finder.removed(this);
		// Reports, and even the end of the link, may have come before these callbacks were set.
		if (link.reported) this.#learn(link, link.reported);
		if (link.isGone) this.#resolveGone();
		if (link.isRemoved) void this.#finder.removed(this);
		if (link.isClosed) this.#disconnected(undefined);
	}

	/** Finds the keeper or the archive in the background. Resolves when it is known. */
	async recover(): Promise<void> {
		this.#finding ??= this.#find();
		await this.#finding;
	}

	/** The server shuts down. The session continues. */
	disconnect(): void {
		this.#refusal ??= unavailable("the server is shutting down");
		const close = () => this.#link?.close();
		close();
		// A keeper that is being greeted may still answer.
		this.#finding?.then(close, () => {});
	}

	/** The session is being removed: requests fail from now on, and its keeper is no longer searched. */
	retire(): void {
		this.#refusal ??= wasRemoved(this.id);
		this.#archive?.retire();
	}

	/** The removal failed. */
	unretire(): void {
		this.#refusal = undefined;
		this.#archive?.unretire();
		if (!this.#home) this.recover().catch(() => {});
	}

	/** Whether its keeper is no longer searched. */
	get isRetired(): boolean {
		return this.#refusal !== undefined;
	}

	/** Ends the keeper in any case, and waits until it is gone. False without a link. */
	async endKeeper(): Promise<boolean> {
		const link = this.#link;
		if (!link) return false;
		try {
			await link.call({ do: "quit", force: true });
		} catch (error) {
			if (!(error instanceof LinkLost)) throw error;
		}
		await link.gone;
		return true;
	}

	override async info(): Promise<SessionInfo> {
		if (this.#archive) return this.#archivedInfo(this.#archive);
		const details = await this.#newDetails(this.#details ? INFO_MS : LINK_MS);
		if (this.#archive) return this.#archivedInfo(this.#archive);
		if (!details) throw unreachableError();
		return this.#infoOf(details);
	}

	override async summary(timeoutMs: number = INFO_MS): Promise<SessionSummary> {
		if (this.#archive) return this.#archivedSummary(this.#archive);
		const details = await this.#newDetails(timeoutMs);
		if (this.#archive) return this.#archivedSummary(this.#archive);
		if (!details) return this.#recorded();
		return { ...this.#infoOf(details), ...(this.#isSilent ? { unreachable: true } : {}) };
	}

	/**
	 * The keeper's description, or the previous one if that takes too long; undefined without any. With a timeout of zero
	 * the keeper is not asked.
	 */
	async #newDetails(timeoutMs: number): Promise<KeeperDetails | undefined> {
		if (timeoutMs > 0) {
			const asked = this.#askForDetails().catch(unlessUnavailable);
			this.#details = (await valueWithin(asked, { ms: timeoutMs })) ?? this.#details;
		}
		// The session was removed, or another server has taken over.
		if (!this.#details && this.#refusal) throw this.#refusal;
		return this.#details;
	}

	/** The summary from the record, without what only the keeper knows. */
	#recorded(): SessionSummary {
		const unknown = { pid: null, offsets: null, lease: NO_LEASE, terminal: null, unreachable: true } as const;
		return { ...this.spec, ...this.#standing.state, ...unknown, attachments: this.#readers.attached };
	}

	/**
	 * Merges details with the standing, which is never older: the keeper reports a change of state before it answers
	 * later requests.
	 */
	#infoOf(details: KeeperDetails): SessionInfo {
		const { state, end } = this.#standing;
		const known = isEnded(state) ? [] : [details.offsets.end, this.#readers.seen?.offset ?? 0];
		return {
			...this.spec,
			...details,
			...state,
			terminal: state.status === "running" ? details.terminal : null,
			offsets: { oldest: details.offsets.oldest, end: Math.max(end?.offset ?? 0, ...known) },
			attachments: this.#readers.attached,
		};
	}

	/** The archive is on this machine, so this waits as long as it takes. */
	async #archivedInfo(archive: ArchivedSession): Promise<SessionInfo> {
		return { ...(await archive.info()), ...this.spec, attachments: this.#readers.attached };
	}

	async #archivedSummary(archive: ArchivedSession): Promise<SessionSummary> {
		return { ...(await archive.summary()), ...this.spec, attachments: this.#readers.attached };
	}

	/** Concurrent calls share one request. */
	#askForDetails(): Promise<SessionDetails> {
		if (this.#asking) return this.#asking.answer;
		const answer = this.ask<"info">({ do: "info" }).finally(() => {
			this.#asking = undefined;
		});
		this.#asking = { answer, since: performance.now() };
		return answer;
	}

	/**
	 * Whether the keeper has not been reached, or has owed a response for too long. A merely late one, as on a busy
	 * machine, is not silent.
	 */
	get #isSilent(): boolean {
		const isOwing = this.#asking !== undefined && performance.now() - this.#asking.since >= SILENT_MS;
		return !this.#link || !this.#details || isOwing;
	}

	/** Performs an operation in the keeper, or in the archive if the keeper is gone by then. */
	async ask<Name extends Operation>(
		request: OperationRequest<Name>,
		signal?: AbortSignal,
	): Promise<Operations[Name]["answer"]> {
		if (request.do === "act") this.#finder.passed("input.received");
		const answer = await this.#ask(withinWindow(request), signal);
		if (request.do === "act") this.#finder.passed("input.accepted");
		return answer;
	}

	override async delegateReplies(by: ReplySource, onOwn: (part: SelfReplyRange) => void): Promise<number> {
		const from = await super.delegateReplies(by, onOwn);
		this.#onOwnReplies = by === "terminal" ? onOwn : undefined;
		this.#isOwnPartLost = false;
		return from;
	}

	follow(start: Start, options: FollowOptions = {}): AsyncGenerator<Item, void, void> {
		// Resolve the start now, so that "end" means the current end, and a log is held from now on.
		if (options.flow === "lossless") return new SessionCursor(this.#readers, start, this.#link, options).items();
		// A position that is determined later may include a little more, never less.
		const place = start === "end" ? this.#endOfNow(options.signal) : Promise.resolve(start);
		// Its error is reported with the first item.
		place.catch(() => {});
		return new SessionCursor(this.#readers, place, undefined, options).items();
	}

	async *receipts(stream: string, signal?: AbortSignal): AsyncGenerator<Receipt, void, void> {
		for (let tries = 1; ; tries++) {
			const home = await this.#located({ signal });
			if (!home) return;
			try {
				for await (const receipt of home.receipts(stream, signal)) {
					yield receipt;
					tries = 0;
				}
				return;
			} catch (error) {
				if (!(error instanceof LinkLost)) throw error;
				await this.#finder.pause(tries);
			}
		}
	}

	get #link(): KeeperLink | undefined {
		return isLink(this.#home) ? this.#home : undefined;
	}

	get #archive(): ArchivedSession | undefined {
		return isLink(this.#home) ? undefined : this.#home;
	}

	/** The keeper or the archive, once known; undefined if the time runs out or the signal aborts first. */
	async #located(wait: {
		readonly ms?: number | undefined;
		readonly signal?: AbortSignal | undefined;
	}): Promise<Home | undefined> {
		const deadline = performance.now() + (wait.ms ?? Number.POSITIVE_INFINITY);
		while (!this.#home) {
			if (this.#refusal) throw this.#refusal;
			if (wait.signal?.aborted || performance.now() >= deadline) return undefined;
			await valueWithin(this.recover(), wait);
		}
		return this.#home;
	}

	/**
	 * For one request: a caller that waits for a change, with a signal, also waits for the keeper; others for a limited
	 * time.
	 */
	async #locatedFor(request: OperationRequest, signal: AbortSignal | undefined): Promise<Home> {
		const isWatching = signal !== undefined && requestTraits[request.do].isLong;
		const home = await this.#located(isWatching ? { signal } : { ms: LINK_MS, signal });
		if (!home) throw unreachableError();
		return home;
	}

	async #ask<Name extends Operation>(
		request: OperationRequest<Name>,
		signal: AbortSignal | undefined,
	): Promise<Operations[Name]["answer"]> {
		for (let tries = 1; ; tries++) {
			const home = await this.#locatedFor(request as OperationRequest, signal);
			try {
				// A kill may take long, so its own request would never show that the keeper is silent.
				if (request.do === "kill") await home.ask<"end">({ do: "end" });
				return await home.ask(request, signal);
			} catch (error) {
				if (error instanceof KeeperSilent && !isRepeatable(request as OperationRequest)) {
					throw unavailable("its keeper is not responding, and it is unknown whether this was done");
				}
				if (!(error instanceof LinkLost)) throw error;
				// The keeper may have received it or not. A repeatable request is sent again; otherwise the caller must decide.
				if (
					!isRepeatable(request as OperationRequest) &&
					isLink(await this.#locatedFor(request as OperationRequest, signal))
				) {
					throw unavailable("the link to its keeper broke, and it is unknown whether this was done");
				}
				if (tries >= MAX_TRIES) throw unavailable(`the link to its keeper broke ${tries} times`);
				await this.#finder.pause(tries);
			}
		}
	}

	/** Waits for the keeper if the end is unknown. With a guess the reader could miss events or get old ones. */
	async #endOfNow(signal: AbortSignal | undefined): Promise<Start> {
		const known = this.#readers.seen;
		if (known && !this.#link) return known;
		for (let tries = 1; ; tries++) {
			const home = await this.#located({ signal });
			if (!home) throw unreachableError();
			try {
				return await home.ask<"end">({ do: "end" }, signal);
			} catch (error) {
				if (!isPassing(error)) throw error;
				if (known) return known;
				await this.#finder.pause(tries);
			}
		}
	}

	#setState(state: State): void {
		const isNews = !isSame(state, this.#state);
		this.#state = state;
		if (isNews) this.#watchers.notify(state);
	}

	#learn(link: KeeperLink, { state, end }: ReportedState): void {
		const standing = standingOf(state, end);
		this.#standing = standing;
		this.#setState(state);
		if (!hasEnded(standing)) return;
		// The keeper may exit now: the rest is in the journal, or will be when it exits.
		if (this.spec.retention.journalBytes > 0) link.call({ do: "quit", force: false }).catch(() => {});
		void this.#rememberEnd(link, standing);
	}

	/** A keeper that can write stores the end in its record and exits. One with a full disk stays, and may be killed. */
	async #rememberEnd(link: KeeperLink, reported: ReportedEnd): Promise<void> {
		const gone = link.gone.then(() => true);
		if (!(await valueWithin(gone, { ms: WRITTEN_MS }))) await this.#finder.rememberEnd(this, reported);
	}

	#disconnected(refusal: SessionError | undefined): void {
		this.#home = undefined;
		this.#lostAt = performance.now();
		this.#refusal ??= refusal;
		// Its error is reported by the next request.
		if (!this.#refusal) this.recover().catch(() => {});
	}

	/**
	 * Delegates replies again. After its link broke, the keeper has replied itself. This comes before anything is read
	 * over the new link, because the terminal must know which queries were answered.
	 */
	async #handRepliesAgain(link: KeeperLink): Promise<void> {
		const report = this.#onOwnReplies;
		if (!report) return;
		try {
			const { from: to, ownFrom = 0 } = await link.ask<"replies">({ do: "replies", by: "terminal" });
			// Queries from before the broken link that were not seen belong to the terminal. But if it is too late for those,
			// or it is unknown which were answered, none is better than two replies.
			const isTheirs = performance.now() - this.#lostAt <= LATE_MS && !this.#isOwnPartLost;
			this.#isOwnPartLost = false;
			report({ from: isTheirs ? ownFrom : 0, to });
		} catch (error) {
			// If the link is lost there will be another one.
			if (error instanceof LinkLost) this.#isOwnPartLost = true;
			else report({ from: 0, to: Number.MAX_SAFE_INTEGER });
		}
	}

	async #find(): Promise<void> {
		try {
			for (let tries = 1; !this.#home && !this.#refusal; tries++) {
				if (tries > 1) await this.#finder.pause(tries);
				const found = await this.#finder.find(this);
				if (isLink(found)) {
					await this.#handRepliesAgain(found);
					// It may already be closed, and nothing else would look for another one.
					this.connected(found);
				} else {
					this.#home = found;
					this.#setState(found.state);
					void found.gone.then(this.#resolveGone);
				}
			}
		} catch (error) {
			this.#refusal ??= SessionError.from(error);
			throw error;
		} finally {
			this.#finding = undefined;
		}
	}
}

/**
 * Cuts a write to what the session would accept at most. The receipt says how far it came, and the caller continues
 * from there. A write that is accepted as a whole or not at all is not cut; the gate check has limited it.
 */
function withinWindow<Name extends Operation>(request: OperationRequest<Name>): OperationRequest<Name> {
	const asked = request as OperationRequest;
	if (
		asked.do !== "act" ||
		asked.act.kind !== "write" ||
		asked.options.exact?.isWhole ||
		asked.act.bytes.byteLength <= INPUT_WINDOW_BYTES
	) {
		return request;
	}
	const bytes = asked.act.bytes.subarray(0, INPUT_WINDOW_BYTES);
	return { ...asked, act: { kind: "write", bytes } } as OperationRequest as OperationRequest<Name>;
}

function unlessUnavailable(error: unknown): undefined {
	if (error instanceof SessionError && error.code === "node_unavailable") return undefined;
	throw error;
}

function unreachableError(): SessionError {
	return new SessionError("node_unavailable", "the session can't be reached: its keeper is not responding", {
		hint: "try again; the session itself continues, and its description has the last known state",
	});
}

function unavailable(why: string): SessionError {
	return new SessionError("node_unavailable", `the session can't be reached: ${why}`);
}
