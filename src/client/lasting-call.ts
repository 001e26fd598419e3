/**
 * Requests that do something once and wait for what comes of it, for longer than one request may: repeated under the
 * same key, which the session recognises, across lost connections and restarts of the server.
 */

import { fenceHeader, idempotencyKeyHeader, limits } from "../protocol/messages.ts";
import { HawserError } from "./error.ts";
import { newStreamId } from "./outbox.ts";
import { Backoff, pause, type Times } from "./times.ts";
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

export type Origin = { readonly stream: string; readonly position: number };

/** Asks once, from a place of an input stream; rejects with a temporary error if it may be asked again. */
export type Ask<Answer> = (request: object, origin: Origin, options: LastingOptions) => Promise<Answer>;

export type Meanwhile<Request, Answer> = {
	readonly everyMs: number;
	next(answer: Answer): Promise<Request>;
};

type LastingCallOptions<Answer> = {
	readonly ask: Ask<Answer>;
	/** Whether the answer says no more than that the time was over. */
	readonly isTimeout: (answer: Answer) => boolean;
	readonly times: Times;
};

const PATIENCE_MS = 60_000;
/** After a rest as long as this a new stream is begun: the server may forget an old one after an hour. */
const STREAM_REST_MS = 30 * 60 * 1000;

/** One kind of such requests to one session, in an input stream of their own. */
export class LastingCall<Request extends object, Answer extends { readonly next: number }> {
	readonly #options: LastingCallOptions<Answer>;
	/** Where the next request goes; undefined while one is on its way there. */
	#origin: Origin | undefined = { stream: newStreamId(), position: 0 };
	#lastUseAt = performance.now();

	constructor(options: LastingCallOptions<Answer>) {
		this.#options = options;
	}

	/** With `meanwhile` it is told what there is so often, and what to ask for next. */
	async make(
		request: Request,
		options: LastingOptions & { readonly timeoutMs: number },
		meanwhile?: Meanwhile<Request, Answer>,
	): Promise<Answer> {
		const isRested = performance.now() - this.#lastUseAt > STREAM_REST_MS;
		const origin = (!isRested && this.#origin) || { stream: newStreamId(), position: 0 };
		this.#origin = undefined;
		try {
			const answer = await this.#outcome(request, origin, options, meanwhile);
			this.#origin ??= { stream: origin.stream, position: answer.next };
			return answer;
		} finally {
			// What failed may have come to its place or not: nothing can follow it there.
			this.#origin ??= { stream: newStreamId(), position: 0 };
			this.#lastUseAt = performance.now();
		}
	}

	async #outcome(
		first: Request,
		origin: Origin,
		options: LastingOptions & { readonly timeoutMs: number },
		meanwhile: Meanwhile<Request, Answer> | undefined,
	): Promise<Answer> {
		const { timeoutMs, patienceMs = PATIENCE_MS, signal } = options;
		const { ask, isTimeout, times } = this.#options;
		const begin = performance.now();
		const backoff = new Backoff(times);
		let request = first;
		let lostAt: number | undefined;
		for (;;) {
			const leftMs = Math.max(0, timeoutMs - (performance.now() - begin));
			const waitMs = Math.ceil(Math.min(leftMs, meanwhile?.everyMs ?? limits.maxWaitMs));
			try {
				const answer = await ask({ ...request, timeoutMs: waitMs }, origin, options);
				if (!isTimeout(answer) || leftMs <= waitMs) return answer;
				if (meanwhile) request = await meanwhile.next(answer);
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
}

export function askOverHttp<Answer>(transport: Transport, path: string): Ask<Answer> {
	return async (json, { stream, position }, { fence, signal }) => {
		const key = { [idempotencyKeyHeader]: `${stream}:${position}` };
		const headers = fence === undefined ? key : { ...key, [fenceHeader]: String(fence) };
		const response = await transport.request({ method: "POST", path, json, headers, signal });
		const body = await transport.body(response, signal);
		return JSON.parse(new TextDecoder().decode(body)) as Answer;
	};
}
