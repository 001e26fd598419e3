/** Questions over a WebSocket that are answered at some time, by their ids: what a connection has not answered ends with it. */

import { HawserError } from "./error.ts";

type Waiting<Answer> = { resolve(answer: Answer): void; reject(error: unknown): void };

export class Asked<Answer> {
	readonly #waiting = new Map<string, Waiting<Answer>>();
	#count = 0;

	/** The answer to what is said with the id that it is given; false if it could not be said. */
	ask(say: (id: string) => boolean, signal?: AbortSignal): Promise<Answer> {
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
			if (!say(id)) this.refused(id, notConnected());
		});
	}

	answered(id: string, answer: Answer): void {
		this.#waiting.get(id)?.resolve(answer);
	}

	refused(id: string, error: unknown): void {
		this.#waiting.get(id)?.reject(error);
	}

	/** The connection is gone; what was asked may be asked again on the next. */
	lose(): void {
		for (const { reject } of [...this.#waiting.values()]) reject(notConnected());
	}
}

function notConnected(): HawserError {
	return new HawserError("node_unavailable", "not connected to the server");
}
