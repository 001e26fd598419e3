/** The interface of readers of a program's output. */

import type { Clock } from "../core/async/clock.ts";
import type { Fact } from "../core/log/event.ts";
import type { Stream } from "../words/state.ts";

export type OutputReaderOptions = {
	readonly clock: Clock;
	readonly stream: Stream;
	/** Takes the output. Its bytes are not changed later. */
	readonly report: (fact: Fact) => void;
	/** Called once, after the last bytes. */
	readonly onEnd: () => void;
};

export interface OutputReader {
	readonly isEnded: boolean;
	/** Whether it was finished while other processes could still write. */
	readonly isCutShort: boolean;
	/** Stops reading. Bytes that were already read may still be reported. */
	pause(): void;
	resume(): void;
	/**
	 * Reports the output that the kernel has now, so that output written before a program's end is reported before its
	 * exit. Does nothing while paused. The output is then reported after the exit, like that of the program's children.
	 */
	catchUp(): void;
	/** Reads what the kernel still has, and ends even if other processes could write more. */
	finish(): void;
}

/** More than any kernel buffer holds. A limit is needed because other processes may keep writing. */
export const mostToDrain: number = 1024 * 1024;
