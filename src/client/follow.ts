/** Reads a session's output to its end, across lost connections and restarts of the server. */

import { HawserError } from "./error.ts";
import type { Output } from "./output.ts";
import type { Session } from "./session.ts";
import { pause } from "./times.ts";

export type FollowOptions = {
	readonly signal?: AbortSignal;
	/** How long the server may be away, in milliseconds, before we give up; zero gives up at once. */
	readonly patienceMs?: number;
	/** Told once when the connection is lost, and once when it is there again. */
	readonly onLost?: (error: HawserError) => void;
	readonly onFound?: () => void;
};

/** How long one request waits for output. */
const WAIT_MS = 30_000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;

/** Everything from `since` on until nothing can follow. Ends without an error when the signal is aborted. */
export async function* follow(
	session: Session,
	since: number,
	options: FollowOptions = {},
): AsyncGenerator<Output, void, void> {
	const { signal, patienceMs = 0 } = options;
	let next = since;
	let lostAt: number | undefined;
	let retryMs = FIRST_RETRY_MS;
	while (!signal?.aborted) {
		const output = await read(session, next, signal);
		if (output === undefined) return;
		if (output instanceof HawserError) {
			const now = performance.now();
			if (lostAt === undefined && patienceMs > 0) options.onLost?.(output);
			lostAt ??= now;
			if (now - lostAt >= patienceMs) throw output;
			await pause(retryMs, signal);
			retryMs = Math.min(2 * retryMs, LAST_RETRY_MS);
			continue;
		}
		if (lostAt !== undefined) options.onFound?.();
		lostAt = undefined;
		retryMs = FIRST_RETRY_MS;
		next = output.next;
		if (output.bytes.byteLength > 0 || output.gap || output.isLast) yield output;
		if (output.isLast) return;
	}
}

/** The next part, the error that a retry may cure, or nothing when we were told to stop. */
async function read(session: Session, since: number, signal?: AbortSignal): Promise<Output | HawserError | undefined> {
	try {
		return await session.output(since, { wait: WAIT_MS, ...(signal ? { signal } : {}) });
	} catch (error) {
		if (signal?.aborted) return undefined;
		if (error instanceof HawserError && error.isTemporary) return error;
		throw error;
	}
}
