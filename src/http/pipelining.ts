/** Serves one request at a time per connection, so that a client can't make us build answers that it does not read. */

import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/**
 * Requests a client may send before it has its first answer. Browsers and libraries send one at a time.
 * @limit requests that wait on one connection | the connection is closed
 */
const MAX_WAITING = 16;

type Turn = { readonly response: ServerResponse; readonly begin: () => void };

export class Pipelining {
	/** Requests that wait behind the one in progress. */
	readonly #waiting = new WeakMap<Duplex, Turn[]>();
	readonly #underWay = new WeakMap<Duplex, ServerResponse>();

	/** Whether a request on this connection is not yet answered completely. */
	isUnderWay(connection: Duplex): boolean {
		return this.#waiting.has(connection);
	}

	/** Whether the body of the current request is still arriving. */
	isReceiving(connection: Duplex): boolean {
		return this.#underWay.get(connection)?.req.complete === false;
	}

	/** Calls `begin` now, or once the kernel has accepted all earlier answers on this connection. */
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
		// Fired when the answer is sent or the connection is gone.
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

/** The value by which an upgrade makes Node's parser stop reading. */
const TAKEN_OVER = 2;

/**
 * Closes a connection and stops parsing what has arrived on it. One chunk may contain hundreds of requests, and Node
 * would create an object for each, which costs more than all our answers.
 */
function cutOff(connection: Duplex & { parser?: { onIncoming: unknown } | null }): void {
	if (connection.parser) connection.parser.onIncoming = () => TAKEN_OVER;
	connection.destroy();
}
