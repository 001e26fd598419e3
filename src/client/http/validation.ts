/** Checks that the server would make, too. In an attachment, its error would end the whole connection. */

import { limits } from "../../api/messages.ts";
import { signalNames } from "../../words/signals.ts";
import { HawserError } from "../errors.ts";

/** The full name of a signal given as `TERM` or `SIGTERM`, in any case. */
export function checkSignal(name: string): string {
	const short = name.toUpperCase().replace(/^SIG/, "");
	if (signalNames.has(short)) return `SIG${short}`;
	throw new HawserError("invalid_argument", `unknown signal ${JSON.stringify(name)}; expected a name like SIGTERM`);
}

export function checkSize({ cols, rows }: { readonly cols: number; readonly rows: number }): void {
	for (const [name, value] of Object.entries({ cols, rows })) {
		if (Number.isInteger(value) && value >= 1 && value <= limits.maxSize) continue;
		throw new HawserError("invalid_argument", `${name} must be an integer from 1 to ${limits.maxSize}, got ${value}`);
	}
}
