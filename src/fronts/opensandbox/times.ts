/** How long the OpenSandbox front waits for what, in milliseconds; the contract names most of them. */

export type Times = {
	/** Between the pings of a WebSocket. */
	readonly pingMs: number;
	/** After a ping without anything, before a WebSocket counts as dead; with what may pass until that ping, less than 60 s. */
	readonly deadMs: number;
	/** Until the kernel must have taken a message. */
	readonly writeMs: number;
	/** The same for the WebSocket of a bash session. */
	readonly sessionWriteMs: number;
	/** For the holder of a PTY to leave when it is evicted. */
	readonly takeoverMs: number;
	/** Between the pings of an event stream. */
	readonly streamPingMs: number;
	/** For background children that hold a terminal or the pipes, after the end of their shell. */
	readonly drainMs: number;
	/** From SIGTERM to SIGKILL, when a command is interrupted. */
	readonly graceMs: number;
};

export const defaultTimes: Times = {
	pingMs: 30_000,
	deadMs: 29_000,
	writeMs: 10_000,
	sessionWriteMs: 5_000,
	takeoverMs: 5_000,
	streamPingMs: 3_000,
	drainMs: 300,
	graceMs: 3_000,
};

/** How long a tree may take to go once it can't refuse; then the signal was delivered, which is enough. */
const TEARDOWN_MS = 1_000;

/** Waits for an end that is under way, but not for a teardown that takes its time; of its failure `report` hears then. */
export async function untilDelivered(
	ending: Promise<unknown>,
	{ graceMs, report }: { readonly graceMs: number; readonly report: (error: unknown) => void },
): Promise<void> {
	let timer: NodeJS.Timeout | undefined;
	const isLate = new Promise<true>((resolve) => {
		timer = setTimeout(() => resolve(true), graceMs + TEARDOWN_MS);
	});
	try {
		if ((await Promise.race([ending, isLate])) === true) ending.catch(report);
	} finally {
		clearTimeout(timer);
	}
}
