/** Waiting for a change, but not for ever. */

import type { Change } from "../core/change.ts";

/** Timers can't be set for longer; whoever waits longer looks up once in between. */
const LONGEST_MS = 2 ** 31 - 1;

/** Whether something changed before the time was over or the signal aborted. */
export async function changesWithin(change: Change, ms: number, signal?: AbortSignal): Promise<boolean> {
	if (signal?.aborted) return false;
	const over = new AbortController();
	const end = () => over.abort();
	const timer = setTimeout(end, Math.min(ms, LONGEST_MS));
	signal?.addEventListener("abort", end, { once: true });
	await change.next(over.signal);
	clearTimeout(timer);
	signal?.removeEventListener("abort", end);
	return !over.signal.aborted;
}
