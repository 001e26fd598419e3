/** What a reader of a program's output does, whatever it reads. */

import type { Clock } from "../core/clock.ts";

export type OutputReaderOptions = {
	readonly clock: Clock;
	/** The bytes stay as they are. */
	readonly onBytes: (bytes: Uint8Array) => void;
	/** Called once; no bytes come after it. */
	readonly onEnd: () => void;
};

export interface OutputReader {
	readonly isEnded: boolean;
	/** Whether it was finished while others could still write. */
	readonly isCutShort: boolean;
	/** Stops reading; what was read and not yet reported may still come. */
	pause(): void;
	resume(): void;
	/**
	 * Reports what the kernel holds now, though more may come: what a program wrote before its end comes before its
	 * exit. While paused nothing may be read: what is there comes after the exit then, as its children's output does.
	 */
	catchUp(): void;
	/** Reads what the kernel still holds and ends, even if others could still write. */
	finish(): void;
}

/** More than any kernel buffer holds; others may keep writing while somebody drains it. */
export const mostToDrain: number = 1024 * 1024;
