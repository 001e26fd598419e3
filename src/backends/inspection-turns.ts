/** Limits how many programs are inspected at a time, with one inspection of each program. */

import { Semaphore } from "../async/semaphore.ts";
import { SessionError } from "../core/errors.ts";

/**
 * An inspection takes a thread, and a program can keep it from ever ending.
 * @limit inspections at a time in one process | the next one waits
 */
const MAX_INSPECTIONS = 4;
/**
 * Limit of waiting inspections per program.
 * @limit inspections that wait | the answer is `unknown` (`slow`)
 */
const MAX_WAITING = 1_000;

const slots = new Semaphore(MAX_INSPECTIONS);

/** The inspections of one program. They run one at a time, so that no program takes more than one of the slots. */
export class InspectionTurns {
	readonly #own = new Semaphore(1, {
		waiting: MAX_WAITING,
		refuse: () =>
			new SessionError("limit_exceeded", `too many inspections of this program are waiting (limit ${MAX_WAITING})`),
	});

	run<T>(inspect: () => Promise<T>): Promise<T> {
		return this.#own.run(() => slots.run(inspect));
	}
}
