/** Sends notifications of several sources over one connection: in turns, and no faster than the kernel accepts them. */

import type { RpcWire } from "./wire.ts";

type NotificationsOptions<Source> = {
	/** The next message of a source; undefined when it has none. */
	readonly take: (source: Source) => string | undefined;
	/** No more is sent while the kernel has not accepted this many bytes. */
	readonly bufferedBytes: number;
};

export class Notifications<Source> {
	readonly #wire: RpcWire;
	readonly #options: NotificationsOptions<Source>;
	/** Sources that may have a message. One that was served moves to the end. */
	readonly #waiting = new Set<Source>();
	/** Set while waiting for the kernel to accept bytes. */
	#isHeldUp = false;

	constructor(wire: RpcWire, options: NotificationsOptions<Source>) {
		this.#wire = wire;
		this.#options = options;
	}

	/** Called when a source has a message. */
	happened(source: Source): void {
		this.#waiting.add(source);
		this.#sendAll();
	}

	/** Sends one message of each source in turn while the kernel accepts them. */
	#sendAll(): void {
		const { take, bufferedBytes } = this.#options;
		if (this.#isHeldUp) return;
		for (const source of this.#waiting) {
			if (this.#wire.ended.aborted) return;
			if (this.#wire.bufferedBytes > bufferedBytes) {
				void this.#continueLater();
				return;
			}
			this.#waiting.delete(source);
			const message = take(source);
			if (message === undefined) continue;
			this.#waiting.add(source);
			this.#wire.send(message);
		}
	}

	async #continueLater(): Promise<void> {
		this.#isHeldUp = true;
		await this.#wire.taken.wait(this.#wire.ended);
		this.#isHeldUp = false;
		this.#sendAll();
	}
}
