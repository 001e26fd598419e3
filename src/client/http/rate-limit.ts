/** Retries a request that the server's start rate refused. */

import { sleep } from "../../async/sleep.ts";
import { HawserError } from "../errors.ts";

type RateLimitOptions = {
	/** How long to retry, in milliseconds; zero does not retry. */
	readonly retryTimeoutMs?: number | undefined;
	readonly signal?: AbortSignal | undefined;
};

const RETRY_TIMEOUT_MS = 60_000;

/** Retries when the server allows it. A request refused by a rate limit had no effect. */
export async function whenAllowed<Answer>(
	ask: () => Promise<Answer>,
	{ retryTimeoutMs = RETRY_TIMEOUT_MS, signal }: RateLimitOptions,
): Promise<Answer> {
	const begin = performance.now();
	for (;;) {
		try {
			return await ask();
		} catch (error) {
			const waitMs = error instanceof HawserError ? error.retryAfterMs : undefined;
			if (waitMs === undefined || performance.now() - begin + waitMs > retryTimeoutMs) throw error;
			await sleep(waitMs, signal);
			if (signal?.aborted) throw error;
		}
	}
}
