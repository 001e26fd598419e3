/** Reads a session's output to its end, across lost connections and server restarts. */

import { RetryDelay } from "../../async/retry-delay.ts";
import { sleep } from "../../async/sleep.ts";
import { isTransient } from "../attach/final-errors.ts";
import { HawserError } from "../errors.ts";
import type { Session } from "../session.ts";
import type { Output } from "./output.ts";

export type FollowOptions = {
	readonly signal?: AbortSignal;
	/** How long the server may be unreachable, in milliseconds; zero fails at once. */
	readonly reconnectTimeoutMs?: number;
	/** Called once when the connection is lost, and once when it is back. */
	readonly onLost?: (error: HawserError) => void;
	readonly onFound?: () => void;
};

/** Long-poll time of one request. */
const WAIT_MS = 30_000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;

/** Yields output from `since` on until the session ends. Ends without an error when the signal is aborted. */
export async function* follow(
	session: Session,
	since: number,
	options: FollowOptions = {},
): AsyncGenerator<Output, void, void> {
	const { signal, reconnectTimeoutMs = 0 } = options;
	let next = since;
	let lostAt: number | undefined;
	const retryDelay = new RetryDelay(FIRST_RETRY_MS, LAST_RETRY_MS);
	while (!signal?.aborted) {
		const output = await read(session, next, signal);
		if (output === undefined) return;
		if (output instanceof HawserError) {
			const now = performance.now();
			if (lostAt === undefined && reconnectTimeoutMs > 0) options.onLost?.(output);
			lostAt ??= now;
			if (now - lostAt >= reconnectTimeoutMs) throw output;
			await sleep(retryDelay.next(), signal);
			continue;
		}
		if (lostAt !== undefined) options.onFound?.();
		lostAt = undefined;
		retryDelay.reset();
		next = output.next;
		if (output.bytes.byteLength > 0 || output.gap || output.isLast) yield output;
		if (output.isLast) return;
	}
}

/** The next output, a retryable error, or undefined when aborted. */
async function read(session: Session, since: number, signal?: AbortSignal): Promise<Output | HawserError | undefined> {
	try {
		return await session.output(since, { wait: WAIT_MS, ...(signal ? { signal } : {}) });
	} catch (error) {
		if (signal?.aborted) return undefined;
		if (error instanceof HawserError && isTransient(error)) return error;
		throw error;
	}
}
