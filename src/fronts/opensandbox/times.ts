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
