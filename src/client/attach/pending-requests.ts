/** Requests over a WebSocket, matched to answers by ID. The end of a connection fails those without an answer. */

import { HawserError } from "../errors.ts";

type Waiting<Answer> = { resolve(answer: Answer): void; reject(error: unknown): void };

export class PendingRequests<Answer> {
	readonly #waiting = new Map<string, Waiting<Answer>>();
	#count = 0;

	/** Sends a request with a new ID and returns the answer. `send` returns false if it could not send. */
	ask(send: (id: string) => boolean, signal?: AbortSignal): Promise<Answer> {
		const id = String(++this.#count);
		return new Promise((resolve, reject) => {
			const abort = () => settle(() => reject(signal?.reason));
			const settle = (act: () => void) => {
				signal?.removeEventListener("abort", abort);
				this.#waiting.delete(id);
				act();
			};
			if (signal?.aborted) return reject(signal.reason);
			signal?.addEventListener("abort", abort, { once: true });
			this.#waiting.set(id, {
				resolve: (answer) => settle(() => resolve(answer)),
				reject: (error) => settle(() => reject(error)),
			});
			if (!send(id)) this.refused(id, notConnected());
		});
	}

	answered(id: string, answer: Answer): void {
		this.#waiting.get(id)?.resolve(answer);
	}

	refused(id: string, error: unknown): void {
		this.#waiting.get(id)?.reject(error);
	}

	/** The connection is gone. Callers may repeat their requests on the next one. */
	failAll(): void {
		for (const { reject } of [...this.#waiting.values()]) reject(notConnected());
	}
}

function notConnected(): HawserError {
	return new HawserError("node_unavailable", "not connected to the server");
}
