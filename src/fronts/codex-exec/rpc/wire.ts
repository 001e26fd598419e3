/** What a connection is made of, whatever carries it: a place to put messages, until it ends. */

export interface Wire {
	/** What we gave away and the kernel has not taken. */
	readonly bufferedBytes: number;
	/** Aborted when nothing more can be said. */
	readonly ended: AbortSignal;
	/** Sends one message; `taken` is called when the kernel has it, or never will. */
	send(text: string, taken?: () => void): void;
	/** Stops and goes on receiving. */
	pause(): void;
	resume(): void;
	/** Ends the connection unless the other side shows soon that it is there. */
	probe(): void;
	close(): void;
}
