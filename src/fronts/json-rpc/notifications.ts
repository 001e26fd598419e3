/** Tells one connection what happens in many places: each has its turn, and none is told faster than the kernel takes it. */

import type { Wire } from "./wire.ts";

type NotificationsOptions<Source> = {
	/** The next message of a source; undefined when it has none. */
	readonly take: (source: Source) => string | undefined;
	/** Bytes the kernel has not taken at which no more is told. */
	readonly bufferedBytes: number;
};

export class Notifications<Source> {
	readonly #wire: Wire;
	readonly #options: NotificationsOptions<Source>;
	/** Those with something to tell; whoever was served goes to the end. */
	readonly #waiting = new Set<Source>();
	/** More is told when the kernel has taken some of what is on its way, notifications or not. */
	#isHeldUp = false;

	constructor(wire: Wire, options: NotificationsOptions<Source>) {
		this.#wire = wire;
		this.#options = options;
	}

	/** This one has something to tell. */
	happened(source: Source): void {
		this.#waiting.add(source);
		this.#tell();
	}

	/** One message of each after the other, while the kernel takes them. */
	#tell(): void {
		const { take, bufferedBytes } = this.#options;
		if (this.#isHeldUp) return;
		for (const source of this.#waiting) {
			if (this.#wire.ended.aborted) return;
			if (this.#wire.bufferedBytes > bufferedBytes) {
				void this.#goOnLater();
				return;
			}
			this.#waiting.delete(source);
			const message = take(source);
			if (message === undefined) continue;
			this.#waiting.add(source);
			this.#wire.send(message);
		}
	}

	async #goOnLater(): Promise<void> {
		this.#isHeldUp = true;
		await this.#wire.taken.next(this.#wire.ended);
		this.#isHeldUp = false;
		this.#tell();
	}
}
