/** One request at a time on each connection, so that no client has answers made that it does not read. */

import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** What a client may ask before it has its first answer. Browsers and libraries ask for one thing at a time. */
const MAX_WAITING = 16;

type Turn = { readonly response: ServerResponse; readonly begin: () => void };

export class Turns {
	/** Those who wait behind the request that is under way. */
	readonly #waiting = new WeakMap<Duplex, Turn[]>();
	readonly #underWay = new WeakMap<Duplex, ServerResponse>();

	/** Whether a request on this connection is not answered to its last byte. */
	isUnderWay(connection: Duplex): boolean {
		return this.#waiting.has(connection);
	}

	/** Whether the body of the request that is under way has not come to its end. */
	isReceiving(connection: Duplex): boolean {
		return this.#underWay.get(connection)?.req.complete === false;
	}

	/** Begins at once, or when the kernel has all answers to what was asked before on the same connection. */
	take(connection: Duplex, response: ServerResponse, begin: () => void): void {
		const waiting = this.#waiting.get(connection);
		if (!waiting) {
			this.#waiting.set(connection, []);
			this.#run(connection, { response, begin });
		} else if (waiting.length < MAX_WAITING) waiting.push({ response, begin });
		else cutOff(connection);
	}

	#run(connection: Duplex, { response, begin }: Turn): void {
		this.#underWay.set(connection, response);
		// Comes when the answer is sent, and when the connection is gone.
		response.once("close", () => {
			const next = connection.destroyed ? undefined : this.#waiting.get(connection)?.shift();
			if (next) this.#run(connection, next);
			else {
				this.#waiting.delete(connection);
				this.#underWay.delete(connection);
			}
		});
		begin();
	}
}

/** What Node's parser is told by whoever takes the connection over: it reads no more of it. */
const TAKEN_OVER = 2;

/**
 * Ends a connection, and with it the reading of what has come on it: hundreds of requests may be in one piece, and
 * Node would make every one of them, which takes more than all that we answer.
 */
function cutOff(connection: Duplex & { parser?: { onIncoming: unknown } | null }): void {
	if (connection.parser) connection.parser.onIncoming = () => TAKEN_OVER;
	connection.destroy();
}
