/** Signal names, checked where they enter: behind it, a name nobody knows would only fail when its turn comes. */

import { constants } from "node:os";
import { SessionError } from "../../core/errors.ts";

/** `TERM` or `SIGTERM`, in any case, as `SIGTERM`. */
export function parseSignal(name: string): string {
	const upper = name.toUpperCase();
	const full = upper.startsWith("SIG") ? upper : `SIG${upper}`;
	if (Object.hasOwn(constants.signals, full)) return full;
	throw new SessionError("invalid_argument", `signal: unknown ${JSON.stringify(name)}`, {
		hint: "a name such as TERM or SIGINT",
	});
}
