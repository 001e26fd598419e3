/**
 * Requests with one effect whose result may take longer than one HTTP request. Each retry has the same key, so the
 * session recognizes it, across lost connections and server restarts.
 */

import { limits } from "../../api/messages.ts";
import type { Operations } from "../../api/types.ts";
import { sleep } from "../../async/sleep.ts";
import { newStreamId } from "../attach/outbox.ts";
import { HawserError } from "../errors.ts";
import { Backoff, type ConnectionTimeouts } from "./retries.ts";
import type { CallOptions, Transport } from "./transport.ts";
import { type StreamPosition, writeHeaders } from "./write-headers.ts";

export type ResumableOptions = {
	/** How long to wait. After a timeout, the caller can resume waiting. */
	readonly timeoutMs?: number;
	/** How long the server may be unreachable, in milliseconds. Default: one minute. */
	readonly reconnectTimeoutMs?: number;
	/** Fence of the lease that the caller holds. */
	readonly fence?: number;
	/** Aborting stops waiting; it undoes nothing. */
	readonly signal?: AbortSignal;
};

/** Sends one request at a position of an input stream. Rejects with a temporary error if it may be repeated. */
type SendRequest<Answer> = (request: object, origin: StreamPosition, options: ResumableOptions) => Promise<Answer>;

type ProgressOptions<Request, Answer> = {
	readonly everyMs: number;
	/** Whether there is more to read at once, even from a finished request. */
	hasMore(answer: Answer): boolean;
	next(answer: Answer): Promise<Request>;
};

type LastingCallOptions<Answer> = {
	readonly ask: SendRequest<Answer>;
	/** Whether the answer only reports a timeout. */
	readonly isTimeout: (answer: Answer) => boolean;
	readonly times: ConnectionTimeouts;
};

const RECONNECT_TIMEOUT_MS = 60_000;
/** After this much idle time a new stream starts, because the server may forget one after an hour. */
const STREAM_REST_MS = 30 * 60 * 1000;

/** Requests of one kind to one session, in their own input stream. */
export class ResumableRequest<Request extends object, Answer extends { readonly next: number }> {
	readonly #options: LastingCallOptions<Answer>;
	/** Position of the next request; undefined while one is in flight. */
	#origin: StreamPosition | undefined = { stream: newStreamId(), position: 0 };
	#lastUseAt = performance.now();

	constructor(options: LastingCallOptions<Answer>) {
		this.#options = options;
	}

	/** `meanwhile` gets intermediate answers at its interval, and decides what to request next. */
	async make(
		request: Request,
		options: ResumableOptions & { readonly timeoutMs: number },
		meanwhile?: ProgressOptions<Request, Answer>,
	): Promise<Answer> {
		const isRested = performance.now() - this.#lastUseAt > STREAM_REST_MS;
		const origin = (!isRested && this.#origin) || { stream: newStreamId(), position: 0 };
		this.#origin = undefined;
		try {
			const answer = await this.#outcome(request, origin, options, meanwhile);
			// A resumed command sends no input; older servers then report the start of the stream.
			this.#origin ??= { stream: origin.stream, position: Math.max(origin.position, answer.next) };
			return answer;
		} finally {
			// A failed request may or may not have arrived, so no request can follow it in this stream.
			this.#origin ??= { stream: newStreamId(), position: 0 };
			this.#lastUseAt = performance.now();
		}
	}

	async #outcome(
		first: Request,
		origin: StreamPosition,
		options: ResumableOptions & { readonly timeoutMs: number },
		meanwhile: ProgressOptions<Request, Answer> | undefined,
	): Promise<Answer> {
		const { timeoutMs, reconnectTimeoutMs = RECONNECT_TIMEOUT_MS, signal } = options;
		const { ask, isTimeout, times } = this.#options;
		const begin = performance.now();
		const backoff = new Backoff(times);
		let request = first;
		let lostAt: number | undefined;
		let hasMore = false;
		for (;;) {
			const leftMs = Math.max(0, timeoutMs - (performance.now() - begin));
			const waitMs = hasMore ? 0 : Math.ceil(Math.min(leftMs, meanwhile?.everyMs ?? limits.maxWaitMs));
			try {
				const answer = await ask({ ...request, timeoutMs: waitMs }, origin, options);
				hasMore = meanwhile?.hasMore(answer) ?? false;
				if (!hasMore && (!isTimeout(answer) || leftMs <= waitMs)) return answer;
				if (meanwhile) request = await meanwhile.next(answer);
				lostAt = undefined;
				backoff.reset();
			} catch (error) {
				if (!(error instanceof HawserError) || !error.isTemporary || signal?.aborted) throw error;
				lostAt ??= performance.now();
				if (performance.now() - lostAt >= reconnectTimeoutMs) throw error;
				await sleep(backoff.next(), signal);
			}
		}
	}
}

/** Operations that send input once and wait for the result. */
type WaitingOperation = "runCommand" | "sendInput";

export function askOverHttp<Name extends WaitingOperation>(
	transport: Transport,
	operation: Name,
	session: string,
): SendRequest<Operations[Name]["answer"]> {
	return async (request, origin, { fence, signal }) => {
		const headers = writeHeaders({ origin, fence });
		const call = { params: { id: session }, body: request, headers, signal } as CallOptions<Name>;
		const body = await transport.body(await transport.open(operation, call), signal);
		return JSON.parse(new TextDecoder().decode(body)) as Operations[Name]["answer"];
	};
}
