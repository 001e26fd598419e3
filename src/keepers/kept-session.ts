/**
 * A session that lives in a keeper, as the server sees it. While the keeper lives everything is asked
 * there; once it is gone, what it wrote is read from the journal. A cursor passes from one to the
 * other, and over a broken link, at the very event where it stands.
 */

import type { Receipt } from "../core/act.ts";
import { SessionError } from "../core/errors.ts";
import { type Item, isFinal, type Mark, type Start } from "../core/event.ts";
import { INPUT_WINDOW_BYTES } from "../core/input.ts";
import { Listeners } from "../core/listeners.ts";
import { LATE_MS } from "../core/replies.ts";
import {
	type FollowOptions,
	type Operation,
	type Operations,
	type OwnReplies,
	type Question,
	type Replier,
	Session,
	type SessionDetails,
	type SessionInfo,
	type SessionSpec,
} from "../core/session.ts";
import { isEnded, isSame, type State } from "../core/state.ts";
import { isRepeatable } from "../link/messages.ts";
import { type ArchivedSession, NO_LEASE } from "./archived-session.ts";
import { type KeeperLink, type LinkFollowOptions, LinkLost } from "./keeper-link.ts";
import { Reading } from "./reading.ts";
import { SharedMirror } from "./shared-mirror.ts";

/** How often a question is asked again over a new link, before its caller hears that there is none that lasts. */
const MAX_TRIES = 10;
/** How long a keeper may take to tell about its session, unless the caller has less time. */
const INFO_MS = 500;
/** Who owes an answer for that long is unreachable. */
const SILENT_MS = 400;

/** What a session that lost its link asks of the one who made it. */
export interface Finder {
	/** Finds out whether the keeper lives, and gives a new link to it, or what is left. Rejects only if the session was removed, or another server is in charge. */
	find(session: KeptSession): Promise<KeeperLink | ArchivedSession>;
	/** Resolves after a while that grows with the number of tries. */
	pause(tries: number): Promise<void>;
	/** A named point of the code was passed; tests crash there. */
	passed(point: string): void;
}

export class KeptSession extends Session {
	readonly #finder: Finder;
	#state: State;
	readonly #watchers = new Listeners<State>();
	/** Where the newest event stands that anybody has heard of here: what the journal may not have got. */
	#seen: Mark | undefined;
	/** The keeper, or what is left; undefined while it is not known which. */
	#home: KeeperLink | ArchivedSession | undefined;
	#finding: Promise<void> | undefined;
	/** Why nothing can be asked here ever again: removed, superseded, or the server goes. */
	#refusal: SessionError | undefined;
	readonly #mirror = new SharedMirror();
	#attachments = 0;
	#details: SessionDetails | undefined;
	/** When the last link broke, by the monotonic clock. */
	#lostAt = 0;
	/** A terminal answers what the program asks, and this hears where it does not. */
	#onOwnReplies: ((part: OwnReplies) => void) | undefined;
	/** The keeper may have handed that over again, and what it said of its own answers was lost with the link. */
	#isOwnPartLost = false;
	#asking: { readonly answer: Promise<SessionDetails>; readonly since: number } | undefined;

	constructor(spec: SessionSpec, state: State, finder: Finder) {
		super(spec);
		this.#state = state;
		this.#finder = finder;
	}

	get state(): State {
		return this.#state;
	}

	watch(listener: (state: State) => void): () => void {
		return this.#watchers.add(listener);
	}

	get seen(): Mark | undefined {
		return this.#seen;
	}

	/** The keeper answers on this link now. */
	connected(link: KeeperLink): void {
		this.#home = link;
		// So that a list that comes before the keeper's next turn has something to tell: there may be hundreds of them.
		this.#details = link.details ?? this.#details;
		if (link.greetedAt && link.greetedAt.seq > (this.#seen?.seq ?? 0)) this.#seen = link.greetedAt;
		link.onState = (state) => this.#learn(link, state);
		link.onClose = (refusal) => this.#disconnected(refusal);
		// What was said, and even that the link broke, may have come before we listened.
		if (link.state) this.#learn(link, link.state);
		if (link.isClosed) this.#disconnected(undefined);
	}

	/** Nobody knows whether the keeper lives; finds out in the background. Resolves when it is known. */
	async recover(): Promise<void> {
		this.#finding ??= this.#find();
		await this.#finding;
	}

	/** The server goes away; the session stays. */
	letGo(): void {
		this.#refusal ??= unavailable("the server is shutting down");
		const close = () => this.#link?.close();
		close();
		// A keeper that is just being greeted may still answer.
		this.#finding?.then(close, () => {});
	}

	/** It is being removed: nothing can be asked any more, and what becomes of its keeper is not its business. */
	retire(): void {
		this.#refusal ??= new SessionError("session_not_found", `session "${this.id}" was removed`);
	}

	/** It could not be removed, and is as it was. */
	unretire(): void {
		this.#refusal = undefined;
		if (!this.#home) this.recover().catch(() => {});
	}

	/** Nobody looks for its keeper any more. */
	get isRetired(): boolean {
		return this.#refusal !== undefined;
	}

	/** Ends the keeper, whatever it keeps, and waits until it is gone and can't write any more. */
	async dismiss(): Promise<void> {
		const link = this.#link;
		if (!link) return;
		try {
			await link.call({ do: "quit", force: true });
		} catch (error) {
			if (!(error instanceof LinkLost)) throw error;
		}
		await link.gone;
	}

	/** What its keeper says; if that is silent, what was last known, and that it is silent. Without patience it is not asked. */
	override async info(patienceMs: number = INFO_MS): Promise<SessionInfo> {
		const details = patienceMs > 0 ? await within(patienceMs, this.#askForDetails()) : undefined;
		if (details) {
			this.#details = details;
			return { ...this.spec, ...details, attachments: this.#attachments };
		}
		const unknown = { pid: null, offsets: { oldest: 0, end: 0 }, lease: NO_LEASE, terminal: null };
		const known = this.#details ?? unknown;
		// Whoever has read further goes on from there.
		const end = Math.max(known.offsets.end, this.#seen?.offset ?? 0);
		return {
			...this.spec,
			...known,
			offsets: { ...known.offsets, end },
			...this.#state,
			attachments: this.#attachments,
			...(this.#isSilent ? { unreachable: true } : {}),
		};
	}

	/** Once for all who want to know. */
	#askForDetails(): Promise<SessionDetails> {
		if (this.#asking) return this.#asking.answer;
		const answer = this.ask<"info">({ do: "info" }).finally(() => {
			this.#asking = undefined;
		});
		this.#asking = { answer, since: performance.now() };
		return answer;
	}

	/** Nothing is known of it, or it owes us an answer for too long; one that is only late, as many are on a busy machine, is not silent. */
	get #isSilent(): boolean {
		const isOwing = this.#asking !== undefined && performance.now() - this.#asking.since >= SILENT_MS;
		return !this.#link || !this.#details || isOwing;
	}

	/** Asks the keeper. If it is gone by then, however late, what is left answers in its place. */
	async ask<Name extends Operation>(
		question: Question<Name>,
		signal?: AbortSignal,
	): Promise<Operations[Name]["answer"]> {
		if (question.do === "act") this.#finder.passed("input.received");
		const answer = await this.#ask(withinWindow(question), signal);
		if (question.do === "act") this.#finder.passed("input.accepted");
		return answer;
	}

	override async handReplies(by: Replier, onOwn: (part: OwnReplies) => void): Promise<number> {
		const from = await super.handReplies(by, onOwn);
		this.#onOwnReplies = by === "terminal" ? onOwn : undefined;
		this.#isOwnPartLost = false;
		return from;
	}

	follow(start: Start, options: FollowOptions = {}): AsyncGenerator<Item, void, void> {
		// Now, so that "end" is the end of now, and a log is held from now on; not from when the first item is asked for.
		if (options.flow === "lossless") return this.#items(new Reading(start, this.#link, options));
		// Whoever is told later may hear of a little more, never of less.
		const place = start === "end" ? this.#endOfNow() : Promise.resolve(start);
		// Its error is for whoever asks for the first item.
		place.catch(() => {});
		return this.#items(new Reading(place, undefined, options));
	}

	async *receipts(stream: string, signal?: AbortSignal): AsyncGenerator<Receipt, void, void> {
		for (let tries = 1; ; tries++) {
			const home = await this.#located();
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

	/** Where the session is, as soon as that is known. */
	async #located(): Promise<KeeperLink | ArchivedSession> {
		while (!this.#home) {
			if (this.#refusal) throw this.#refusal;
			await this.recover();
		}
		return this.#home;
	}

	async #ask<Name extends Operation>(
		question: Question<Name>,
		signal: AbortSignal | undefined,
	): Promise<Operations[Name]["answer"]> {
		for (let tries = 1; ; tries++) {
			const home = await this.#located();
			try {
				// A kill may take its time, so a keeper that is silent would never be found to be.
				if (question.do === "kill") await home.ask<"end">({ do: "end" });
				return await home.ask(question, signal);
			} catch (error) {
				if (!(error instanceof LinkLost)) throw error;
				// The keeper may have got it or not. What can be asked twice is asked again; the rest the caller must decide.
				if (!isRepeatable(question as Question) && isLink(await this.#located())) {
					throw unavailable("the link to its keeper broke, and it is not known whether this was done");
				}
				if (tries >= MAX_TRIES) throw unavailable(`the link to its keeper broke ${tries} times`);
				await this.#finder.pause(tries);
			}
		}
	}

	async #endOfNow(): Promise<Start> {
		const known = this.#seen;
		const link = this.#link;
		if (known && !link) return { seq: known.seq };
		try {
			return { seq: (await (link ?? this).ask<"end">({ do: "end" })).seq };
		} catch (error) {
			if (!(error instanceof LinkLost)) throw error;
			return known ? { seq: known.seq } : { seq: (await this.end()).seq };
		}
	}

	/** The items of one cursor, through as many links as it takes, and from the journal at last. */
	async *#items(reading: Reading): AsyncGenerator<Item, void, void> {
		const counted = reading.options.isOwn ? 0 : 1;
		this.#attachments += counted;
		try {
			for (let tries = 1; ; tries++) {
				try {
					const items =
						reading.takeBegun() ?? this.#itemsIn(await this.#located(), await reading.place, reading.options);
					for await (const item of items) {
						reading.passed(item);
						this.#see(item);
						yield item;
						tries = 0;
						this.#finder.passed("output.delivered");
					}
					return;
				} catch (error) {
					if (!(error instanceof LinkLost)) throw error;
					await this.#finder.pause(tries);
				}
			}
		} finally {
			this.#attachments -= counted;
		}
	}

	/** Who holds the log has a cursor in the keeper; all who only watch share one stream. */
	#itemsIn(home: KeeperLink | ArchivedSession, place: Start, options: LinkFollowOptions): AsyncIterable<Item> {
		if (!isLink(home)) return home.follow(place, options);
		return options.flow === "lossless" ? home.follow(place, options) : this.#mirror.follow(home, place, options);
	}

	#see(item: Item): void {
		if (item.kind === "gap" || item.seq < (this.#seen?.seq ?? 0) || isFinal(item)) return;
		const length = item.kind === "output" ? item.bytes.byteLength : 0;
		this.#seen = { seq: item.seq + 1, offset: item.offset + length };
	}

	#setState(state: State): void {
		const isNews = !isSame(state, this.#state);
		this.#state = state;
		if (isNews) this.#watchers.tell(state);
	}

	#learn(link: KeeperLink, state: State): void {
		this.#setState(state);
		// The keeper may go now: all that is left is in the journal, or will be when it goes.
		if (isEnded(state) && this.spec.retention.journalBytes > 0) {
			link.call({ do: "quit", force: false }).catch(() => {});
		}
	}

	#disconnected(refusal: SessionError | undefined): void {
		this.#home = undefined;
		this.#lostAt = performance.now();
		this.#refusal ??= refusal;
		// Its error is for whoever asks.
		if (!this.#refusal) this.recover().catch(() => {});
	}

	/**
	 * A keeper whose link broke has answered itself from then on, and does so until it is told otherwise. Before anybody
	 * follows what comes over the new link: whoever has a terminal must know which questions in it were answered.
	 */
	async #handRepliesAgain(link: KeeperLink): Promise<void> {
		const tell = this.#onOwnReplies;
		if (!tell) return;
		try {
			const { from: to, ownFrom = 0 } = await link.ask<"replies">({ do: "replies", by: "terminal" });
			// What was asked before the link broke, and was not heard of, is the terminal's: unless it is too late for that,
			// or nobody knows what of it was answered, and rather none than two answers are given.
			const isTheirs = performance.now() - this.#lostAt <= LATE_MS && !this.#isOwnPartLost;
			this.#isOwnPartLost = false;
			tell({ from: isTheirs ? ownFrom : 0, to });
		} catch (error) {
			// If the link is lost there will be another one.
			if (error instanceof LinkLost) this.#isOwnPartLost = true;
			else tell({ from: 0, to: Number.MAX_SAFE_INTEGER });
		}
	}

	async #find(): Promise<void> {
		try {
			for (let tries = 1; !this.#home && !this.#refusal; tries++) {
				if (tries > 1) await this.#finder.pause(tries);
				const found = await this.#finder.find(this);
				if (isLink(found)) {
					await this.#handRepliesAgain(found);
					// It may have broken by now, and nobody but us would look for another.
					this.connected(found);
				} else {
					this.#home = found;
					this.#setState(found.state);
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

function isLink(home: KeeperLink | ArchivedSession | undefined): home is KeeperLink {
	return home !== undefined && "call" in home;
}

/** No more of a write than the session would accept: the receipt says how far it came, and the caller goes on from there. */
function withinWindow<Name extends Operation>(question: Question<Name>): Question<Name> {
	const asked = question as Question;
	if (asked.do !== "act" || asked.act.kind !== "write" || asked.act.bytes.byteLength <= INPUT_WINDOW_BYTES) {
		return question;
	}
	const bytes = asked.act.bytes.subarray(0, INPUT_WINDOW_BYTES);
	return { ...asked, act: { kind: "write", bytes } } as Question as Question<Name>;
}

/** What it comes to, unless that takes too long; errors are the caller's. */
function within<Value>(ms: number, promise: Promise<Value>): Promise<Value | undefined> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<undefined>((resolve) => {
		timer = setTimeout(() => resolve(undefined), ms);
	});
	return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function unavailable(why: string): SessionError {
	return new SessionError("node_unavailable", `the session can't be reached now: ${why}`);
}
