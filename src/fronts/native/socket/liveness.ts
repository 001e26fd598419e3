/** Finds out whether the other side of a connection is still there. */

import type { SocketLimits } from "./limits.ts";

export type LivenessOptions = {
	readonly limits: Pick<SocketLimits, "pingMs" | "deadMs" | "lagMs">;
	readonly signal: AbortSignal;
	readonly ping: () => void;
	/** Grows with every byte that arrives, whatever it belongs to. */
	readonly received: () => number;
	readonly onDead: () => void;
	readonly now?: () => number;
};

/**
 * Pings now and then; the other side is dead when nothing at all arrives for a while after that.
 * There is no verdict when our own timer was late: the bytes may be waiting where we did not look.
 */
export function watchLiveness(options: LivenessOptions): void {
	const { limits, signal, now = () => performance.now() } = options;
	let timer: NodeJS.Timeout;
	const rest = (ms: number) => {
		timer = setTimeout(ask, Math.max(0, ms));
	};
	const ask = () => {
		const before = options.received();
		const due = now() + limits.deadMs;
		options.ping();
		timer = setTimeout(() => {
			const isLate = now() - due > limits.lagMs;
			if (options.received() === before && !isLate) options.onDead();
			else rest(limits.pingMs - limits.deadMs);
		}, limits.deadMs);
	};
	if (signal.aborted) return;
	signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
	rest(limits.pingMs);
}
