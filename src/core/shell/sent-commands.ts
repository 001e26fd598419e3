/** Remembers commands sent to a shell by their input stream positions, so that retries are recognized. */

import { SessionError } from "../errors.ts";
import type { ActOptions, Receipt, StreamPosition } from "../input/action.ts";
import { streamMoved } from "../input/input-queue.ts";

/**
 * Commands remembered: as many as are known of a shell at all.
 * @limit sent commands that are remembered for repeats | the oldest are forgotten
 */
const MAX_SENT = 500;
/**
 * Characters of all of them together. At either limit the oldest are forgotten; the newest is always kept.
 * @limit their texts together | the oldest are forgotten
 */
const MAX_SENT_LENGTH = 2 * 1024 * 1024;

export type SentCommand = { readonly command: string; readonly origin: StreamPosition | undefined };

export class SentCommands<Sent extends SentCommand> {
	readonly #sent: Sent[] = [];
	#length = 0;
	readonly #receipt: (stream: string) => Receipt;

	constructor(receipt: (stream: string) => Receipt) {
		this.#receipt = receipt;
	}

	add(sent: Sent): void {
		this.#sent.push(sent);
		this.#length += sent.command.length;
		while (this.#sent.length > MAX_SENT || (this.#length > MAX_SENT_LENGTH && this.#sent.length > 1)) {
			this.#length -= this.#sent.shift()?.command.length ?? 0;
		}
	}

	/** Whether a command was sent at this position. */
	has(origin: StreamPosition | undefined): boolean {
		return this.#at(origin) !== undefined;
	}

	/**
	 * The command sent at this position before. Throws if that was another one, or if the position is not the next one.
	 */
	repeated(command: string, { origin, exact }: ActOptions): Sent | undefined {
		const next = origin ? this.#receipt(origin.stream).next : 0;
		if (!origin || next <= origin.position) {
			const position = origin?.position ?? 0;
			if (exact && exact.from !== position) throw streamMoved(origin, position, exact.from);
			return undefined;
		}
		const sent = this.#at(origin);
		if (sent?.command === command) return sent;
		throw new SessionError(
			"invalid_argument",
			`position ${origin.position} of input stream "${origin.stream}" was used for something other than this command`,
			{ hint: "a new command begins where the stream ends, or in a new stream" },
		);
	}

	#at(origin: StreamPosition | undefined): Sent | undefined {
		if (!origin) return undefined;
		return this.#sent.find(({ origin: at }) => at?.stream === origin.stream && at.position === origin.position);
	}
}
