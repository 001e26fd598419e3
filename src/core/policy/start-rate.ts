import { SessionError } from "../errors.ts";

/** Throws unless the wait returned by `countCreation` is zero. */
export function checkStartRate(waitMs: number): void {
	if (waitMs === 0) return;
	throw new SessionError("limit_exceeded", `rate limit exceeded; retry in ${waitMs} ms`, {
		hint: "--create-rate of the server sets the rate",
		retryAfterMs: waitMs,
	});
}
