/**
 * Calls `act` when `signal` aborts, or at once if it has. The abort of `until` removes the listener, so none stays on a
 * signal that lives longer.
 */
export function onAbort(signal: AbortSignal, until: AbortSignal, act: () => void): void {
	if (signal.aborted) act();
	signal.addEventListener("abort", act, { once: true });
	until.addEventListener("abort", () => signal.removeEventListener("abort", act), { once: true });
}
