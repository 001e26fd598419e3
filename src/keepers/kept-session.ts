/**
 * A session that lives in a keeper, as the server sees it. While the keeper lives everything is asked
 * there; once it is gone, what it wrote is read from the journal. A cursor passes from one to the
 * other, and over a broken link, at the very event where it stands.
 */

import { SessionError } from "../core/errors.ts";
import { type Item, isFinal, type Mark, type Start } from "../core/event.ts";
import { Listeners } from "../core/listeners.ts";
import {
	type FollowOptions,
	type Operation,
	type Operations,
	type Question,
	Session,
	type SessionSpec,
} from "../core/session.ts";
import { isEnded, type State } from "../core/state.ts";
import type { ArchivedSession } from "./archived-session.ts";
import { type KeeperLink, LinkLost } from "./keeper-link.ts";

/** What a session that lost its link asks of the one who made it. */
export interface Caretaker {
	/** Finds out whether the keeper lives, and gives a new link to it, or what is left of the session. */
	recover(session: KeptSession): Promise<KeeperLink | ArchivedSession>;
	/** A named point of the code was passed; tests crash there. */
	passed(point: string): void;
}

export class KeptSession extends Session {
	readonly #caretaker: Caretaker;
	#state: State;
	readonly #watchers = new Listeners<State>();
	/** Where the newest event stands that anybody has seen here: what the journal may not have got. */
	#seen: Mark = { seq: 1, offset: 0 };
	/** The keeper, or what is left; pending while it is not known which. */
	#home: KeeperLink | ArchivedSession | undefined;
	#finding: Promise<void> | undefined;
	#isLetGo = false;

	constructor(spec: SessionSpec, state: State, caretaker: Caretaker) {
		super(spec);
		this.#state = state;
		this.#caretaker = caretaker;
	}

	get state(): State {
		return this.#state;
	}

	watch(listener: (state: State) => void): () => void {
		return this.#watchers.add(listener);
	}

	get seen(): Mark {
		return this.#seen;
	}

	/** The keeper answers on this link now. */
	connected(link: KeeperLink): void {
		this.#home = link;
		link.onState = (state) => this.#learn(link, state);
		link.onClose = (refusal) => this.#disconnected(refusal);
		// What was said, and even that the link broke, may have come before we listened.
		if (link.state) this.#learn(link, link.state);
		if (link.isClosed) this.#disconnected(undefined);
	}

	/** Nobody knows whether the keeper lives; finds out in the background. */
	recover(): void {
		this.#finding ??= this.#find();
	}

	/** The server goes away; the session stays. */
	letGo(): void {
		this.#isLetGo = true;
		this.#link?.close();
	}

	/** Ends the keeper, whatever it keeps, and waits until it is gone and can't write any more. */
	async dismiss(): Promise<void> {
		this.#isLetGo = true;
		const link = this.#link;
		if (!link) return;
		try {
			await link.call({ do: "quit", force: true });
		} catch (error) {
			if (!(error instanceof LinkLost)) throw error;
		}
		await link.gone;
	}

	follow(start: Start, options: FollowOptions = {}): AsyncGenerator<Item, void, void> {
		// Asked at once where it can be, so that "end" is the end of now.
		const link = this.#link;
		return this.#items(start, options, link?.follow(start, options));
	}

	/** Asks the keeper. If it is gone by then, however late, what is left answers in its place. */
	async ask<Name extends Operation>(
		question: Question<Name>,
		signal?: AbortSignal,
	): Promise<Operations[Name]["answer"]> {
		if (question.do === "act") this.#caretaker.passed("input.received");
		const answer = await this.#ask(question, signal);
		if (question.do === "act") this.#caretaker.passed("input.accepted");
		return answer;
	}

	get #link(): KeeperLink | undefined {
		return isLink(this.#home) ? this.#home : undefined;
	}

	/** Where the session is, as soon as that is known. */
	async #located(): Promise<KeeperLink | ArchivedSession> {
		while (!this.#home) {
			if (this.#isLetGo) throw unavailable("the server is shutting down");
			await (this.#finding ?? Promise.reject(unavailable("its keeper can't be reached")));
		}
		return this.#home;
	}

	async #ask<Name extends Operation>(
		question: Question<Name>,
		signal: AbortSignal | undefined,
	): Promise<Operations[Name]["answer"]> {
		for (;;) {
			const home = await this.#located();
			try {
				return await home.ask(question, signal);
			} catch (error) {
				if (!(error instanceof LinkLost)) throw error;
				// The keeper may have got it or not. What can be asked twice is asked again; the rest the caller must decide.
				if (!isRepeatable(question as Question) && isLink(await this.#located())) {
					throw unavailable("the link to its keeper broke, and it is not known whether this was done");
				}
			}
		}
	}

	/** The items of one cursor, through as many links as it takes, and from the journal at last. */
	async *#items(
		start: Start,
		options: FollowOptions,
		first: AsyncGenerator<Item, void, void> | undefined,
	): AsyncGenerator<Item, void, void> {
		let place = start;
		let items = first;
		for (;;) {
			if (!items) {
				const home = await this.#located();
				items = home.follow(place, options);
			}
			try {
				for await (const item of items) {
					place = { seq: item.kind === "gap" ? item.nextSeq : item.seq + 1 };
					this.#see(item);
					yield item;
					this.#caretaker.passed("output.delivered");
				}
				return;
			} catch (error) {
				if (!(error instanceof LinkLost)) throw error;
				items = undefined;
			}
		}
	}

	#see(item: Item): void {
		if (item.kind === "gap" || item.seq < this.#seen.seq || isFinal(item)) return;
		const length = item.kind === "output" ? item.bytes.byteLength : 0;
		this.#seen = { seq: item.seq + 1, offset: item.offset + length };
	}

	#setState(state: State): void {
		this.#state = state;
		this.#watchers.tell(state);
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
		if (this.#isLetGo) return;
		if (refusal) this.#finding = Promise.reject(refusal);
		else this.#finding = this.#find();
		this.#finding.catch(() => {});
	}

	async #find(): Promise<void> {
		const found = await this.#caretaker.recover(this);
		this.#finding = undefined;
		if (isLink(found)) return this.connected(found);
		this.#home = found;
		this.#setState(found.state);
	}
}

function isLink(home: KeeperLink | ArchivedSession | undefined): home is KeeperLink {
	return home !== undefined && "call" in home;
}

/** Whether asking twice does the same as asking once. */
function isRepeatable(question: Question): boolean {
	return question.do === "act" ? question.options.origin !== undefined : question.do !== "acquire";
}

function unavailable(why: string): SessionError {
	return new SessionError("node_unavailable", `the session can't be reached now: ${why}`);
}
