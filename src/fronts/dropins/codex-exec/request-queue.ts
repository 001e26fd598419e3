/**
 * The queue of a connection's messages.
 *
 * By default they run one after the other. If the server allows concurrency, they run concurrently once `isReady`, in
 * two lanes, so that waiting requests can't delay the requests that end them.
 */

import { Semaphore } from "../../../async/semaphore.ts";
import type { Message } from "../../json-rpc/messages.ts";
import type { RpcWire } from "../../json-rpc/wire.ts";

type InboxLimits = {
	/** Limits of waiting requests per connection. At a limit, reading pauses. */
	readonly waitingRequests: number;
	readonly waitingBytes: number;
};

type InboxOptions = {
	readonly wire: RpcWire;
	readonly limits: InboxLimits;
	/** Requests of one lane that run at the same time. */
	readonly concurrency: number;
	/** Whether the handshake is over. */
	readonly isReady: () => boolean;
	/** Methods that run even while others wait. */
	readonly controls: ReadonlySet<string>;
	/** Handles one message; never rejects. */
	readonly handle: (message: Message) => Promise<void>;
};

export class Inbox {
	readonly #options: InboxOptions;
	readonly #messages: { readonly message: Message; readonly bytes: number }[] = [];
	readonly #control: Semaphore;
	readonly #ordinary: Semaphore;
	/** Bytes of all waiting messages. */
	#waitingBytes = 0;
	#waiting = 0;
	#isWorking = false;
	#isPaused = false;

	constructor(options: InboxOptions) {
		this.#options = options;
		this.#control = new Semaphore(options.concurrency);
		this.#ordinary = new Semaphore(options.concurrency);
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
				// The message stays in memory until it is handled.
				wire.keep(-bytes);
			};
			const lane = this.#laneFor(message);
			if (lane) void lane.run(task);
			else await task();
		}
		this.#isWorking = false;
	}

	#laneFor(message: Message): Semaphore | undefined {
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
