/** A server's end of the link to one keeper: questions with their answers, and streams that come from over there. */

import type { Receipt } from "../core/act.ts";
import { Change } from "../core/change.ts";
import { SessionError } from "../core/errors.ts";
import type { Item, Mark, Start } from "../core/event.ts";
import type { FollowOptions, Operation, Operations, Question, SessionDetails } from "../core/session.ts";
import type { State } from "../core/state.ts";
import type { Frame } from "../link/frames.ts";
import { Link } from "../link/link.ts";
import {
	CALLS_V1,
	costOf,
	type FromKeeper,
	frameLimitsOf,
	fromWireError,
	fromWireItem,
	type KeeperQuestion,
	LINK_VERSIONS,
	questions,
	type StreamCall,
	type ToKeeper,
	toWireQuestion,
	unknownCall,
	type Welcome,
	windowOf,
} from "../link/messages.ts";
import { askVersion1, receiptsByAsking } from "./version-1.ts";

/** A keeper that does not answer a simple question for this long is not answering. */
const ANSWER_MS = 10_000;
/** How often a keeper that takes its time over something is asked whether it is there. */
const PING_MS = 5_000;

/** The link broke, or was never made; the session may be well all the same. */
export class LinkLost extends Error {
	constructor(cause?: unknown) {
		super("the link to the keeper is gone", { cause });
		this.name = "LinkLost";
	}
}

export type KeeperAddress = { readonly socket: string; readonly epoch: string };

type Waiting = { resolve: (result: unknown) => void; reject: (error: unknown) => void };

/** What has come of a stream and was not taken yet; its windows bound it over there. */
type Channel = {
	readonly items: Item[];
	receipt: Receipt | undefined;
	readonly onPlace: (place: Mark) => void;
	readonly change: Change;
	isEnded: boolean;
	error: unknown;
};

export type LinkFollowOptions = FollowOptions & {
	/** Hears where a cursor from the end begins, before its first item. */
	readonly onPlace?: (place: Mark) => void;
};

export class KeeperLink {
	/** The session's state, as far as the keeper has told; null in a spare. */
	state: State | null = null;
	/** Hears of every change of the state. */
	onState: (state: State) => void = () => {};
	/** Hears once that the link is gone, with the keeper's refusal or the error if that was the reason. */
	onClose: (refusal: SessionError | undefined, error: Error | undefined) => void = () => {};
	/** Resolves when the link is gone. After a `quit` that is when the keeper is. */
	readonly gone: Promise<void>;
	#resolveGone: () => void = () => {};
	readonly #link: Link<FromKeeper, ToKeeper>;
	readonly #calls = new Map<number, Waiting>();
	readonly #channels = new Map<number, Channel>();
	#welcome: Welcome | undefined;
	#lastId = 0;
	#refusal: SessionError | undefined;
	#isClosed = false;

	/** Makes a link and greets the keeper. Rejects with a `SessionError` if it refuses, else with what went wrong. */
	static connect(
		address: KeeperAddress,
		generation: number,
		budgetMs: number,
	): Promise<{ link: KeeperLink; welcome: Welcome }> {
		return new Promise((resolve, reject) => {
			const link = new KeeperLink(address.socket, (welcome) => {
				clearTimeout(timer);
				resolve({ link, welcome });
			});
			const timer = setTimeout(() => link.#link.close(new Error(`no answer within ${budgetMs} ms`)), budgetMs);
			link.onClose = (refusal, error) => {
				clearTimeout(timer);
				reject(refusal ?? new LinkLost(error));
			};
			link.#link.send({ hello: { versions: LINK_VERSIONS, generation, epoch: address.epoch } });
		});
	}

	private constructor(path: string, onWelcome: (welcome: Welcome) => void) {
		this.gone = new Promise((resolve) => {
			this.#resolveGone = resolve;
		});
		this.#link = Link.connect(path, {
			onFrame: (frame) => {
				if (!("welcome" in frame.header)) return this.#take(frame);
				const { welcome } = frame.header;
				this.#welcome = welcome;
				this.#link.limitTo(frameLimitsOf(welcome.version));
				this.state = welcome.state;
				onWelcome(welcome);
			},
			onClose: (error) => this.#closed(error),
		});
	}

	get isClosed(): boolean {
		return this.#isClosed;
	}

	/** Where the session's next event stood when the keeper was greeted; undefined if it did not say so. */
	get greetedAt(): Mark | undefined {
		return this.#welcome?.end ?? undefined;
	}

	/** What it told about the session then; undefined if it did not. */
	get details(): SessionDetails | undefined {
		return this.#welcome?.details ?? undefined;
	}

	/** Whether that can be asked over there. */
	can(name: string): boolean {
		return (this.#welcome?.calls ?? CALLS_V1).includes(name);
	}

	/** Asks the session over there. */
	async ask<Name extends Operation>(
		question: Question<Name>,
		signal?: AbortSignal,
	): Promise<Operations[Name]["answer"]> {
		const asked = question as Question;
		const answered = this.#isVersion1
			? askVersion1((call) => this.call(call, signal), asked)
			: this.call(asked, signal);
		return (await answered) as Operations[Name]["answer"];
	}

	/**
	 * Asks the keeper. Most questions are answered soon or never; a signal ends the wait for those that may take their
	 * time, and while nobody can end it the keeper is asked now and then whether it is still there.
	 */
	async call(question: KeeperQuestion, signal?: AbortSignal): Promise<unknown> {
		const isWatched = questions[question.do].isLong && !signal && this.can("ping");
		if (!isWatched) return this.#call(question, signal);
		let timer: NodeJS.Timeout | undefined;
		const silence = new Promise<never>((_, reject) => {
			timer = setInterval(() => this.#call({ do: "ping" }).catch(reject), PING_MS);
		});
		return Promise.race([this.#call(question), silence]).finally(() => clearInterval(timer));
	}

	#call(question: KeeperQuestion, signal?: AbortSignal): Promise<unknown> {
		if (this.#isClosed) return Promise.reject(new LinkLost());
		if (!this.can(question.do)) return Promise.reject(unknownCall(question.do));
		const id = ++this.#lastId;
		const { call, body } = toWireQuestion(question);
		return new Promise((resolve, reject) => {
			const settle = () => {
				clearTimeout(timer);
				signal?.removeEventListener("abort", cancel);
				this.#calls.delete(id);
			};
			const cancel = () => this.#link.send({ id, cancel: true });
			// A refused frame rejects here, before anything is waited for.
			this.#link.send({ id, call }, body);
			const isLong = questions[call.do].isLong || (this.#isVersion1 && call.do === "receipt");
			const timer = isLong ? undefined : setTimeout(() => this.#calls.get(id)?.reject(silent()), ANSWER_MS);
			this.#calls.set(id, {
				resolve: (result) => {
					settle();
					resolve(result);
				},
				reject: (error) => {
					settle();
					reject(error);
				},
			});
			signal?.addEventListener("abort", cancel, { once: true });
			if (signal?.aborted) cancel();
		});
	}

	/** A cursor in the keeper, from a place that is fixed when the keeper gets to know of it: after all earlier calls. */
	follow(start: Start, options: LinkFollowOptions): AsyncGenerator<Item, void, void> {
		const flow = options.flow ?? null;
		const { isPaced = false } = options;
		const { id, channel } = this.#open({ do: "follow", start, flow, isPaced }, options.onPlace);
		// Credit goes back in halves of the window: few frames, and the other half is under way meanwhile.
		return this.#items(id, channel, windowOf(flow) / 2, options.signal);
	}

	/** An input stream's receipts as the keeper pushes them: now, and after each change. */
	receipts(stream: string, signal?: AbortSignal): AsyncGenerator<Receipt, void, void> {
		if (this.#isVersion1) return receiptsByAsking((question) => this.call(question, signal), stream, signal);
		return this.#receipts(stream, signal);
	}

	close(): void {
		this.#link.close();
	}

	get #isVersion1(): boolean {
		return this.#welcome?.version === 1;
	}

	async *#receipts(stream: string, signal: AbortSignal | undefined): AsyncGenerator<Receipt, void, void> {
		const { id, channel } = this.#open({ do: "receipts", stream });
		try {
			while (!signal?.aborted) {
				const { receipt } = channel;
				channel.receipt = undefined;
				if (receipt) yield receipt;
				else if (this.#isOver(channel)) return;
				else await channel.change.next(signal);
			}
		} finally {
			this.#leave(id, channel);
		}
	}

	#open(
		call: StreamCall,
		onPlace: (place: Mark) => void = () => {},
	): { readonly id: number; readonly channel: Channel } {
		const id = ++this.#lastId;
		const channel: Channel = {
			items: [],
			receipt: undefined,
			onPlace,
			change: new Change(),
			isEnded: false,
			error: undefined,
		};
		if (this.#isClosed) channel.error = new LinkLost();
		this.#channels.set(id, channel);
		this.#link.send({ id, call });
		return { id, channel };
	}

	async *#items(
		id: number,
		channel: Channel,
		creditBytes: number,
		signal: AbortSignal | undefined,
	): AsyncGenerator<Item, void, void> {
		let taken = 0;
		try {
			while (!signal?.aborted) {
				const item = channel.items.shift();
				if (item) {
					yield item;
					taken += costOf(item);
					if (taken < creditBytes) continue;
					this.#link.send({ id, credit: taken });
					taken = 0;
				} else if (this.#isOver(channel)) return;
				else await channel.change.next(signal);
			}
		} finally {
			this.#leave(id, channel);
		}
	}

	/** Whether a stream has come to its end; throws if that was an error. */
	#isOver(channel: Channel): boolean {
		if (channel.error) throw channel.error;
		return channel.isEnded;
	}

	#leave(id: number, channel: Channel): void {
		this.#channels.delete(id);
		if (!channel.isEnded) this.#link.send({ id, cancel: true });
	}

	#take({ header, body }: Frame<FromKeeper>): void {
		if ("state" in header) {
			this.state = header.state;
			this.onState(header.state);
			return;
		}
		if ("refused" in header) {
			this.#refusal = fromWireError(header.refused);
			return;
		}
		if (!("id" in header)) return;
		const channel = this.#channels.get(header.id);
		if (channel) {
			this.#fill(channel, header, body);
			return;
		}
		if ("result" in header) this.#calls.get(header.id)?.resolve(header.result);
		else if ("error" in header) this.#calls.get(header.id)?.reject(fromWireError(header.error));
	}

	#fill(channel: Channel, header: Extract<FromKeeper, { id: number }>, body: Uint8Array): void {
		if ("item" in header) channel.items.push(fromWireItem(header.item, body));
		else if ("receipt" in header) channel.receipt = header.receipt;
		else if ("place" in header) channel.onPlace(header.place);
		else {
			channel.isEnded = true;
			if ("error" in header) channel.error = fromWireError(header.error);
		}
		channel.change.happen();
	}

	#closed(error: Error | undefined): void {
		this.#isClosed = true;
		const lost = this.#refusal ?? new LinkLost(error);
		for (const { reject } of [...this.#calls.values()]) reject(lost);
		for (const channel of this.#channels.values()) {
			channel.error ??= lost;
			channel.change.happen();
		}
		this.onClose(this.#refusal, error);
		this.#resolveGone();
	}
}

function silent(): SessionError {
	return new SessionError("node_unavailable", `the session's keeper did not answer within ${ANSWER_MS} ms`, {
		hint: "try again; the session itself goes on",
	});
}
