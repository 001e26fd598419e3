/** Commands that were given to a shell, by their places in input streams, so that a repeat is recognised. */

import type { Origin, Receipt } from "./act.ts";
import { SessionError } from "./errors.ts";

/** The newest are remembered: as many as are known of a shell at all. */
const MAX_SENT = 500;

export type SentCommand = { readonly command: string; readonly origin: Origin | undefined };

export class SentCommands<Sent extends SentCommand> {
	readonly #sent: Sent[] = [];
	readonly #receipt: (stream: string) => Receipt;

	constructor(receipt: (stream: string) => Receipt) {
		this.#receipt = receipt;
	}

	add(sent: Sent): void {
		this.#sent.push(sent);
		if (this.#sent.length > MAX_SENT) this.#sent.shift();
	}

	/** Whether a command was given from this place. */
	has(origin: Origin | undefined): boolean {
		return this.#at(origin) !== undefined;
	}

	/** What was given from this place before; throws if that was something else. */
	repeated(command: string, origin: Origin | undefined): Sent | undefined {
		if (!origin || this.#receipt(origin.stream).next <= origin.position) return undefined;
		const sent = this.#at(origin);
		if (sent?.command === command) return sent;
		throw new SessionError(
			"invalid_argument",
			`position ${origin.position} of input stream "${origin.stream}" was something else than this command`,
			{ hint: "a new command begins where the stream ends, or in a new stream" },
		);
	}

	#at(origin: Origin | undefined): Sent | undefined {
		if (!origin) return undefined;
		return this.#sent.find(({ origin: at }) => at?.stream === origin.stream && at.position === origin.position);
	}
}
