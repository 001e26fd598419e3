/**
 * When each message of a connection has its turn.
 *
 * By default one after the other, whatever it is. A server that was told to do several things at once does so
 * from `isReady` on: in two lanes, so that requests that wait can't keep those from being heard that end them.
 */

import type { Message } from "./envelope.ts";
import type { Wire } from "./wire.ts";

type InboxLimits = {
	/** Requests waiting for their turn on one connection, and their size; at either bound no more is read from it. */
	readonly waitingRequests: number;
	readonly waitingBytes: number;
};

type InboxOptions = {
	readonly wire: Wire;
	readonly limits: InboxLimits;
	/** How many requests of a lane are dealt with at once. */
	readonly concurrency: number;
	/** Whether the handshake is over. */
	readonly isReady: () => boolean;
	/** The methods that must be heard while others wait. */
	readonly controls: ReadonlySet<string>;
	/** Deals with one message; never rejects. */
	readonly handle: (message: Message) => Promise<void>;
};

export class Inbox {
	readonly #options: InboxOptions;
	readonly #messages: { readonly message: Message; readonly bytes: number }[] = [];
	readonly #control: Lane;
	readonly #ordinary: Lane;
	/** Of everything that has not had its turn. */
	#waitingBytes = 0;
	#waiting = 0;
	#isWorking = false;
	#isPaused = false;

	constructor(options: InboxOptions) {
		this.#options = options;
		this.#control = new Lane(options.concurrency);
		this.#ordinary = new Lane(options.concurrency);
	}

	add(message: Message, bytes: number): void {
		this.#waiting++;
		this.#waitingBytes += bytes;
		this.#options.wire.keep(bytes);
		this.#messages.push({ message, bytes });
		if (!this.#isWorking) void this.#work();
		if (this.#isFull(1) && !this.#isPaused) {
			this.#isPaused = true;
			this.#options.wire.pause();
		}
	}

	async #work(): Promise<void> {
		const { wire, handle } = this.#options;
		this.#isWorking = true;
		for (let next = this.#messages.shift(); next && !wire.ended.aborted; next = this.#messages.shift()) {
			const { message, bytes } = next;
			const task = async () => {
				this.#begun(bytes);
				if (!wire.ended.aborted) await handle(message);
				// It was in memory for as long.
				wire.keep(-bytes);
			};
			const lane = this.#laneFor(message);
			if (lane) lane.run(task);
			else await task();
		}
		this.#isWorking = false;
	}

	#laneFor(message: Message): Lane | undefined {
		const { concurrency, isReady, controls } = this.#options;
		if (concurrency < 2 || message.kind !== "request" || !isReady()) return undefined;
		return controls.has(message.method) ? this.#control : this.#ordinary;
	}

	#begun(bytes: number): void {
		this.#waiting--;
		this.#waitingBytes -= bytes;
		if (!this.#isPaused || this.#isFull(0.5)) return;
		this.#isPaused = false;
		this.#options.wire.resume();
	}

	#isFull(share: number): boolean {
		const { waitingRequests, waitingBytes } = this.#options.limits;
		return this.#waiting > share * waitingRequests || this.#waitingBytes > share * waitingBytes;
	}
}

/** So many at a time, the rest in the order in which they came. */
class Lane {
	#free: number;
	readonly #waiting: (() => Promise<void>)[] = [];

	constructor(places: number) {
		this.#free = places;
	}

	/** The task must not reject. */
	run(task: () => Promise<void>): void {
		if (this.#free === 0) {
			this.#waiting.push(task);
			return;
		}
		this.#free--;
		void this.#work(task);
	}

	async #work(first: () => Promise<void>): Promise<void> {
		for (let task: (() => Promise<void>) | undefined = first; task; task = this.#waiting.shift()) await task();
		this.#free++;
	}
}
