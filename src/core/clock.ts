/** Time as the core sees it: passed in, so that a test can hold it still. */

export interface Clock {
	/** Milliseconds since the epoch: when something happened. It jumps when the machine's clock is set. */
	now(): number;
	/** Milliseconds since some moment, never going back: for how long something takes. */
	monotonic(): number;
	/** Calls back once after a while, unless the returned function is called first. Keeps no process alive. */
	after(ms: number, callback: () => void): () => void;
}
