/**
 * Requests that do something once and wait for what comes of it, for longer than one request may: repeated under the
 * same key, which the session recognises, across lost connections and restarts of the server.
 */

import { fenceHeader, idempotencyKeyHeader, limits } from "../protocol/messages.ts";
import { HawserError } from "./error.ts";
import { newStreamId } from "./outbox.ts";
import { Backoff, pause } from "./times.ts";
import type { Transport } from "./transport.ts";

export type LastingOptions = {
	/** How long to wait; what is not over then says so, and can be waited for again. */
	readonly timeoutMs?: number;
	/** How long the server may be away, in milliseconds; a minute by default. */
	readonly patienceMs?: number;
	/** Of the lease that we have, while nobody else may write. */
	readonly fence?: number;
	/** Ends the waiting, and undoes nothing. */
	readonly signal?: AbortSignal;
};

type Origin = { readonly stream: string; readonly position: number };

const PATIENCE_MS = 60_000;
/** After a rest as long as this a new stream is begun: the server may forget an old one after an hour. */
const STREAM_REST_MS = 30 * 60 * 1000;

/** One kind of such requests to one session, in an input stream of their own. */
export class LastingCall<Request extends object, Answer extends { readonly next: number }> {
	readonly #transport: Transport;
	readonly #path: string;
	/** Whether the answer says no more than that the time was over. */
	readonly #isTimeout: (answer: Answer) => boolean;
	/** Where the next request goes; undefined while one is on its way there. */
	#origin: Origin | undefined = { stream: newStreamId(), position: 0 };
	#lastUseAt = performance.now();

	constructor(transport: Transport, path: string, isTimeout: (answer: Answer) => boolean) {
		this.#transport = transport;
		this.#path = path;
		this.#isTimeout = isTimeout;
	}

	async make(request: Request, options: LastingOptions & { readonly timeoutMs: number }): Promise<Answer> {
		const isRested = performance.now() - this.#lastUseAt > STREAM_REST_MS;
		const origin = (!isRested && this.#origin) || { stream: newStreamId(), position: 0 };
		this.#origin = undefined;
		try {
			const answer = await this.#outcome(request, origin, options);
			this.#origin ??= { stream: origin.stream, position: answer.next };
			return answer;
		} finally {
			// What failed may have come to its place or not: nothing can follow it there.
			this.#origin ??= { stream: newStreamId(), position: 0 };
			this.#lastUseAt = performance.now();
		}
	}

	async #outcome(
		request: Request,
		origin: Origin,
		options: LastingOptions & { readonly timeoutMs: number },
	): Promise<Answer> {
		const { timeoutMs, patienceMs = PATIENCE_MS, signal } = options;
		const begin = performance.now();
		const backoff = new Backoff(this.#transport.times);
		let lostAt: number | undefined;
		for (;;) {
			const leftMs = Math.max(0, timeoutMs - (performance.now() - begin));
			const waitMs = Math.ceil(Math.min(leftMs, limits.maxWaitMs));
			try {
				const answer = await this.#ask({ ...request, timeoutMs: waitMs }, origin, options);
				if (!this.#isTimeout(answer) || leftMs <= limits.maxWaitMs) return answer;
				lostAt = undefined;
				backoff.reset();
			} catch (error) {
				if (!(error instanceof HawserError) || !error.isTemporary || signal?.aborted) throw error;
				lostAt ??= performance.now();
				if (performance.now() - lostAt >= patienceMs) throw error;
				await pause(backoff.next(), signal);
			}
		}
	}

	async #ask(json: object, { stream, position }: Origin, { fence, signal }: LastingOptions): Promise<Answer> {
		const response = await this.#transport.request({
			method: "POST",
			path: this.#path,
			json,
			headers: {
				[idempotencyKeyHeader]: `${stream}:${position}`,
				...(fence === undefined ? {} : { [fenceHeader]: String(fence) }),
			},
			signal,
		});
		const body = await this.#transport.body(response, signal);
		return JSON.parse(new TextDecoder().decode(body)) as Answer;
	}
}
