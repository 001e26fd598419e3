/** A server's end of the link to one keeper: requests with their results, and streams from the keeper. */

import { Change } from "../../core/async/change.ts";
import { SessionError } from "../../core/errors.ts";
import type { Receipt } from "../../core/input/action.ts";
import type { FollowOptions } from "../../core/log/cursor.ts";
import type { Item, LogPosition, Start } from "../../core/log/event.ts";
import type { State } from "../../core/log/session-state.ts";
import type { Operation, OperationRequest, Operations } from "../../core/session/operations.ts";
import type { SessionDetails } from "../../core/session/session-info.ts";
import { costOf, type Frame, fromWireItem, Link, windowOf } from "../link/link.ts";
import {
	type FromKeeper,
	fromWireError,
	type KeeperRequest,
	LINK_VERSIONS,
	requestTraits,
	type StreamCall,
	type ToKeeper,
	toWireQuestion,
	unknownRequestError,
	type Welcome,
} from "../link/messages.ts";

/**
 * Timeout of a keeper's response to a short request.
 * @limit a keeper's answer to a request | `node_unavailable`; the keeper is not killed
 */
export const ANSWER_MS: number = 10_000;
/** Interval for checking that a keeper that performs a long request is still responding. */
const PING_MS = 5_000;

/** The link broke or could not be made. The session may be fine. */
export class LinkLost extends Error {
	constructor(cause?: unknown) {
		super("the link to the keeper is gone", { cause });
		this.name = "LinkLost";
	}
}

/** The keeper did not respond in time. It may be alive and respond later. */
export class KeeperSilent extends SessionError {
	constructor(ms: number) {
		super("node_unavailable", `the session's keeper did not respond within ${ms} ms`, {
			hint: "try again; the session itself continues",
		});
	}
}

export type KeeperAddress = { readonly socket: string; readonly epoch: string };

type Waiting = { resolve: (result: unknown) => void; reject: (error: unknown) => void };

/** Items of a stream that were received but not consumed. The keeper's window bounds them. */
type Channel = {
	readonly items: Item[];
	receipt: Receipt | undefined;
	readonly onPlace: (place: LogPosition) => void;
	readonly change: Change;
	isEnded: boolean;
	error: unknown;
};

export type LinkFollowOptions = FollowOptions & {
	/** Called with the position at which a cursor from the end begins, before its first item. */
	readonly onPlace?: (place: LogPosition) => void;
};

/** A state of the session and the end of its log at that time. */
export type ReportedState = { readonly state: State; readonly end: LogPosition };

export class KeeperLink {
	/** The last state that the keeper sent; undefined in a spare. */
	reported: ReportedState | undefined;
	/** The keeper has reported that its session's directory was deleted, moved or replaced. */
	isRemoved = false;
	/** The keeper has reported that no process of its session's program is left. */
	isGone = false;
	/** Called for every state that the keeper sends. */
	onState: (reported: ReportedState) => void = () => {};
	/** Called when the keeper reports that its session's directory was deleted, moved or replaced. */
	onRemoved: () => void = () => {};
	/** Called when the keeper reports that no process of its session's program is left. */
	onGone: () => void = () => {};
	/** Called once when the link is closed, with the keeper's refusal or the error that caused it. */
	onClose: (refusal: SessionError | undefined, error: Error | undefined) => void = () => {};
	/** Resolves when the link is closed. After a `quit` the keeper is gone then. */
	readonly gone: Promise<void>;
	#resolveGone: () => void = () => {};
	readonly #link: Link<FromKeeper, ToKeeper>;
	readonly #calls = new Map<number, Waiting>();
	readonly #channels = new Map<number, Channel>();
	#welcome: Welcome | undefined;
	#lastId = 0;
	#refusal: SessionError | undefined;
	#isClosed = false;

	/** Connects and greets the keeper. Rejects with a `SessionError` if it refuses, otherwise with `LinkLost`. */
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
				this.reported = welcome.session ?? undefined;
				onWelcome(welcome);
			},
			onClose: (error) => this.#closed(error),
		});
	}

	get isClosed(): boolean {
		return this.#isClosed;
	}

	/** End of the session's log when the keeper was greeted. */
	get greetedAt(): LogPosition | undefined {
		return this.#welcome?.session?.end;
	}

	/** The session's details when the keeper was greeted. */
	get details(): SessionDetails | undefined {
		return this.#welcome?.session?.details;
	}

	/** Whether the keeper supports a request. */
	can(name: string): boolean {
		return this.#welcome?.calls.includes(name) ?? false;
	}

	/** Performs an operation on the keeper's session. */
	async ask<Name extends Operation>(
		question: OperationRequest<Name>,
		signal?: AbortSignal,
	): Promise<Operations[Name]["answer"]> {
		return (await this.call(question as OperationRequest, signal)) as Operations[Name]["answer"];
	}

	/**
	 * Sends a request. Most are answered soon or never. A signal ends the wait for long ones; without a signal the keeper
	 * is checked at intervals while one is pending.
	 */
	async call(question: KeeperRequest, signal?: AbortSignal): Promise<unknown> {
		const isWatched = requestTraits[question.do].isLong && !signal;
		if (!isWatched) return this.#call(question, signal);
		let timer: NodeJS.Timeout | undefined;
		const silence = new Promise<never>((_, reject) => {
			timer = setInterval(() => this.#call({ do: "ping" }).catch(reject), PING_MS);
		});
		return Promise.race([this.#call(question), silence]).finally(() => clearInterval(timer));
	}

	#call(question: KeeperRequest, signal?: AbortSignal): Promise<unknown> {
		if (this.#isClosed) return Promise.reject(new LinkLost());
		if (!this.can(question.do)) return Promise.reject(unknownRequestError(question.do));
		const id = ++this.#lastId;
		const { call, body } = toWireQuestion(question);
		return new Promise((resolve, reject) => {
			const settle = () => {
				clearTimeout(timer);
				signal?.removeEventListener("abort", cancel);
				this.#calls.delete(id);
			};
			const cancel = () => this.#link.send({ id, cancel: true });
			// A refused frame rejects here, before the request is registered.
			this.#link.send({ id, call }, body);
			const timer = requestTraits[call.do].isLong
				? undefined
				: setTimeout(() => this.#calls.get(id)?.reject(new KeeperSilent(ANSWER_MS)), ANSWER_MS);
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

	/** A cursor in the keeper. Its position is fixed when the keeper receives the call, after all earlier calls. */
	follow(start: Start, options: LinkFollowOptions): AsyncGenerator<Item, void, void> {
		const flow = options.flow ?? null;
		const { isPaced = false } = options;
		const { id, channel } = this.#open({ do: "follow", start, flow, isPaced }, options.onPlace);
		// Credit is returned in halves of the window: few frames, with the other half in flight.
		return this.#items(id, channel, windowOf(flow) / 2, options.signal);
	}

	/** An input stream's receipts, pushed by the keeper: now, and after each change. */
	async *receipts(stream: string, signal?: AbortSignal): AsyncGenerator<Receipt, void, void> {
		const { id, channel } = this.#open({ do: "receipts", stream });
		try {
			while (!signal?.aborted) {
				const { receipt } = channel;
				channel.receipt = undefined;
				if (receipt) yield receipt;
				else if (this.#isOver(channel)) return;
				else await channel.change.wait(signal);
			}
		} finally {
			this.#leave(id, channel);
		}
	}

	close(): void {
		this.#link.close();
	}

	#open(
		call: StreamCall,
		onPlace: (place: LogPosition) => void = () => {},
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
				else await channel.change.wait(signal);
			}
		} finally {
			this.#leave(id, channel);
		}
	}

	/** Whether a stream has ended. Throws if it ended with an error. */
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
			this.reported = header;
			this.onState(header);
			return;
		}
		if ("isRemoved" in header) {
			this.isRemoved = true;
			this.onRemoved();
			return;
		}
		if ("isGone" in header) {
			this.isGone = true;
			this.onGone();
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
