/** Time as the core sees it: passed in, so that a test can hold it still. */

export interface Clock {
	/** Milliseconds since the epoch. */
	now(): number;
	/** Calls back once after a while, unless the returned function is called first. Keeps no process alive. */
	after(ms: number, callback: () => void): () => void;
}
