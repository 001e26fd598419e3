/** Tells one connection what happens in many places: each has its turn, and none is told faster than the kernel takes it. */

import type { Wire } from "./wire.ts";

export type NotificationsOptions<Source> = {
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
	readonly #pump = () => this.#tell();

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
		for (const source of this.#waiting) {
			if (this.#wire.bufferedBytes > bufferedBytes || this.#wire.ended.aborted) return;
			this.#waiting.delete(source);
			const message = take(source);
			if (message === undefined) continue;
			this.#waiting.add(source);
			this.#wire.send(message, this.#pump);
		}
	}
}
