/** Resources of the machine that a start may lack. The same start may work later. */

import { conditions, SessionError } from "../errors.ts";

const exhausted: Readonly<Record<string, { readonly what: string; readonly hint: string }>> = {
	EMFILE: conditions.EMFILE,
	ENFILE: conditions.ENFILE,
	ENOSPC: {
		what: "no more terminals on this machine; see /proc/sys/kernel/pty/max",
		hint: "end sessions with a terminal",
	},
	EAGAIN: { what: "there are too many processes", hint: "end some, or raise the user's limit: ulimit -u" },
	ENOMEM: conditions.ENOMEM,
};

/** The error if a start failed for lack of a resource; undefined for any other reason. */
export function shortage(what: string, thrown: unknown): SessionError | undefined {
	const { code = "" } = thrown as NodeJS.ErrnoException;
	const found = Object.hasOwn(exhausted, code) ? exhausted[code] : undefined;
	if (!found) return undefined;
	const { what: reason, hint } = found;
	return new SessionError("limit_exceeded", `cannot start ${what}: ${reason} (${code})`, { hint, cause: thrown });
}
