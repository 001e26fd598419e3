/** What a server would refuse anyway, refused where the mistake was made: there it costs the whole connection. */

import { limits } from "../protocol/messages.ts";
import { HawserError } from "./error.ts";

const signals = new Set(
	(
		"HUP INT QUIT ILL TRAP ABRT IOT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM CHLD STKFLT CONT STOP TSTP TTIN " +
		"TTOU URG XCPU XFSZ VTALRM PROF WINCH IO POLL PWR SYS"
	).split(" "),
);

/** The full name of a signal given as `TERM` or `SIGTERM`, in any case. */
export function checkSignal(name: string): string {
	const short = name.toUpperCase().replace(/^SIG/, "");
	if (signals.has(short)) return `SIG${short}`;
	throw new HawserError("invalid_argument", `unknown signal ${JSON.stringify(name)}; expected a name like SIGTERM`);
}

export function checkSize({ cols, rows }: { readonly cols: number; readonly rows: number }): void {
	for (const [name, value] of Object.entries({ cols, rows })) {
		if (Number.isInteger(value) && value >= 1 && value <= limits.maxSize) continue;
		throw new HawserError(
			"invalid_argument",
			`${name} must be a whole number from 1 to ${limits.maxSize}, not ${value}`,
		);
	}
}
