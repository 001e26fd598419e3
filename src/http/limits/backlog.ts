/**
 * Total unprocessed message bytes over all JSON-RPC connections. When it exceeds the limit, the connection holding the
 * most is closed.
 */

type BacklogConnection = {
	/** Closes the connection at once and drops its messages. */
	cut(): void;
};

const MiB = 1024 * 1024;
/**
 * More than one connection may use by its own limits: the largest message and answer, 8 MiB of messages and 1 MiB of
 * answers. Each byte costs about three until garbage is collected, so this keeps a server below 512 MiB.
 * @limit messages and answers that all connections to Codex fronts keep | the connection with the most is closed
 */
const MAX_BYTES = 96 * MiB;

export class Backlog {
	readonly #maxBytes: number;
	readonly #kept = new Map<BacklogConnection, number>();
	#bytes = 0;

	constructor(maxBytes: number = MAX_BYTES) {
		this.#maxBytes = maxBytes;
	}

	/** Sets how many bytes a connection holds now. */
	note(holder: BacklogConnection, bytes: number): void {
		this.#bytes += bytes - (this.#kept.get(holder) ?? 0);
		if (bytes > 0) this.#kept.set(holder, bytes);
		else this.#kept.delete(holder);
		if (this.#bytes > this.#maxBytes) this.#cutLargest();
	}

	#cutLargest(): void {
		const [largest] = [...this.#kept].reduce((most, one) => (one[1] > most[1] ? one : most));
		this.note(largest, 0);
		largest.cut();
	}
}
