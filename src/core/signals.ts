/** The names of signals, checked where they enter: behind it, a name nobody knows would only fail when its turn comes. */

import { SessionError } from "./errors.ts";

const names = new Set(
	(
		"HUP INT QUIT ILL TRAP ABRT IOT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM CHLD STKFLT CONT STOP TSTP TTIN " +
		"TTOU URG XCPU XFSZ VTALRM PROF WINCH IO POLL PWR SYS"
	).split(" "),
);

/** `TERM` or `SIGTERM`, in any case, as `SIGTERM`. */
export function parseSignal(name: string): string {
	const short = name.toUpperCase().replace(/^SIG/, "");
	if (names.has(short)) return `SIG${short}`;
	throw new SessionError("invalid_argument", `unknown signal ${JSON.stringify(name)}; expected a name like SIGTERM`);
}
