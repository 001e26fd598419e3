/** Timeouts of the OpenSandbox front in milliseconds; most are fixed by the contract. */

export type OpenSandboxLimits = {
	/** Between pings of a WebSocket. */
	readonly pingMs: number;
	/** From an unanswered ping until the WebSocket counts as dead. Plus the time before that ping, less than 60 s. */
	readonly deadMs: number;
	/** For the kernel to accept a message. */
	readonly writeMs: number;
	/** The same for the WebSocket of a bash session. */
	readonly sessionWriteMs: number;
	/** For an evicted holder of a PTY to leave. */
	readonly takeoverMs: number;
	/** Between pings of an event stream. */
	readonly streamPingMs: number;
	/** For background children that hold the terminal or the pipes after their shell has ended. */
	readonly drainMs: number;
	/** From SIGTERM to SIGKILL when a command is interrupted. */
	readonly graceMs: number;
};

export const defaultTimes: OpenSandboxLimits = {
	pingMs: 30_000,
	deadMs: 29_000,
	/** @limit a client that reads nothing | it is dropped; the program continues */
	writeMs: 10_000,
	/** @limit the same on the WebSocket of a bash session | it is dropped */
	sessionWriteMs: 5_000,
	/** @limit waiting for the evicted client of a PTY | `ALREADY_CONNECTED` */
	takeoverMs: 5_000,
	streamPingMs: 3_000,
	/** @limit background children that hold a terminal or the pipes after the end | `exit` is sent */
	drainMs: 300,
	/** @limit from SIGTERM to SIGKILL, when a command is interrupted | SIGKILL */
	graceMs: 3_000,
};

/**
 * Time for a process tree to disappear after SIGKILL. The signal is delivered by then, which suffices for an answer.
 */
const TEARDOWN_MS = 1_000;

/** Waits for an end in progress, but not for a slow teardown; a failure after that goes to `report`. */
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
