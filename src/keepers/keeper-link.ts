/** A server's end of the link to one keeper: calls with their answers, and cursors that run over there. */

import { Change } from "../core/change.ts";
import { SessionError } from "../core/errors.ts";
import type { Item, Start } from "../core/event.ts";
import type { FollowOptions, Operation, Operations, Question } from "../core/session.ts";
import type { State } from "../core/state.ts";
import { type Frame, Link } from "../link/link.ts";
import {
	costOf,
	type FromKeeper,
	fromWireError,
	fromWireItem,
	isLong,
	type KeeperQuestion,
	LINK_VERSIONS,
	type ToKeeper,
	toWireQuestion,
	type Welcome,
	windowOf,
} from "../link/messages.ts";

/** A keeper that does not answer a simple question for this long is not answering. */
const ANSWER_MS = 10_000;

/** The link broke, or was never made; the session may be well all the same. */
export class LinkLost extends Error {
	constructor(cause?: unknown) {
		super("the link to the keeper is gone", { cause });
		this.name = "LinkLost";
	}
}

type Waiting = { resolve: (result: unknown) => void; reject: (error: unknown) => void };
type Channel = { readonly items: Item[]; readonly change: Change; isEnded: boolean; error: unknown };

export type KeeperAddress = { readonly socket: string; readonly epoch: string };

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
				this.state = frame.header.welcome.state;
				onWelcome(frame.header.welcome);
			},
			onClose: (error) => this.#closed(error),
		});
	}

	get isClosed(): boolean {
		return this.#isClosed;
	}

	/** Asks the session over there. */
	ask<Name extends Operation>(question: Question<Name>, signal?: AbortSignal): Promise<Operations[Name]["answer"]> {
		return this.call(question as Question, signal) as Promise<Operations[Name]["answer"]>;
	}

	/** Asks the keeper. Most questions are answered soon or never; a signal ends the wait for those that may take their time. */
	call(question: KeeperQuestion, signal?: AbortSignal): Promise<unknown> {
		if (this.#isClosed) return Promise.reject(new LinkLost());
		const id = ++this.#lastId;
		const { call, body } = toWireQuestion(question);
		return new Promise((resolve, reject) => {
			const settle = () => {
				clearTimeout(timer);
				signal?.removeEventListener("abort", cancel);
				this.#calls.delete(id);
			};
			const cancel = () => this.#link.send({ id, cancel: true });
			const timer = isLong[call.do] ? undefined : setTimeout(() => this.#calls.get(id)?.reject(silent()), ANSWER_MS);
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
			this.#link.send({ id, call }, body);
			if (signal?.aborted) cancel();
		});
	}

	/** A cursor in the keeper, from a place that is fixed when the keeper gets to know of it: after all earlier calls. */
	follow(start: Start, options: FollowOptions): AsyncGenerator<Item, void, void> {
		const id = ++this.#lastId;
		const channel: Channel = { items: [], change: new Change(), isEnded: false, error: undefined };
		if (this.#isClosed) channel.error = new LinkLost();
		this.#channels.set(id, channel);
		const flow = options.flow ?? null;
		this.#link.send({ id, call: { do: "follow", start, flow } });
		// Credit goes back in halves of the window: few frames, and the other half is under way meanwhile.
		return this.#drain(id, channel, windowOf(flow) / 2, options.signal);
	}

	close(): void {
		this.#link.close();
	}

	async *#drain(
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
				} else if (channel.error) throw channel.error;
				else if (channel.isEnded) return;
				else await channel.change.next(signal);
			}
		} finally {
			this.#channels.delete(id);
			if (!channel.isEnded) this.#link.send({ id, cancel: true });
		}
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
			if ("item" in header) channel.items.push(fromWireItem(header.item, body));
			else {
				channel.isEnded = true;
				if ("error" in header) channel.error = fromWireError(header.error);
			}
			channel.change.happen();
			return;
		}
		if ("result" in header) this.#calls.get(header.id)?.resolve(header.result);
		else if ("error" in header) this.#calls.get(header.id)?.reject(fromWireError(header.error));
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
