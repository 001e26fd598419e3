import type { Change } from "./change.ts";

/** The longest delay of `setTimeout`. A longer wait returns early, and the caller checks again. */
const LONGEST_MS = 2 ** 31 - 1;

/** Waits for a change. Returns false if the time ran out or the signal aborted first. */
export async function nextWithin(change: Change, ms: number, signal?: AbortSignal): Promise<boolean> {
	if (signal?.aborted) return false;
	const over = new AbortController();
	const end = () => over.abort();
	const timer = setTimeout(end, Math.min(ms, LONGEST_MS));
	signal?.addEventListener("abort", end, { once: true });
	await change.wait(over.signal);
	clearTimeout(timer);
	signal?.removeEventListener("abort", end);
	return !over.signal.aborted;
}
