/** Looks at programs, of which only a few are under way at a time. */

import { SessionError } from "../core/errors.ts";

/** Each has a thread, and a program can see to it that a look at it never ends; then so many are in the way of the others. */
const MOST_LOOKS = 4;
/** Looks that wait for their turn; one more is refused. */
const MOST_WAITING = 1_000;

let underWay = 0;
const waiting: (() => void)[] = [];

/** Looks when it is its turn. */
export async function inTurn<Value>(look: () => Promise<Value>): Promise<Value> {
	if (waiting.length >= MOST_WAITING) {
		throw new SessionError("limit_exceeded", "too many programs are to be looked at, and looks do not end");
	}
	if (underWay >= MOST_LOOKS) await new Promise<void>((resolve) => waiting.push(resolve));
	else underWay++;
	try {
		return await look();
	} finally {
		// The place passes on without being free in between, so that nobody overtakes who waits.
		const next = waiting.shift();
		if (next) next();
		else underWay--;
	}
}
