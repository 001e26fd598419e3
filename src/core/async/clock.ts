/** The clock of the core. It is passed in so that tests can control time. */

export interface Clock {
	/** Milliseconds since the epoch, for timestamps. It jumps when the system clock is set. */
	now(): number;
	/** Milliseconds that never go back, for durations. */
	monotonic(): number;
	/** Calls back once after a delay, unless the returned function cancels it. Does not keep the process alive. */
	after(ms: number, callback: () => void): () => void;
}
