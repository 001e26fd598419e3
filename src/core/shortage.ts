/** What the machine may have run out of when something is to be started: "not now" rather than "not this". */

import { SessionError } from "./errors.ts";

const openFiles = "end sessions, or let it have more: ulimit -n, or LimitNOFILE= of its unit";

const exhausted: Readonly<Record<string, { readonly what: string; readonly hint: string }>> = {
	EMFILE: { what: "the server has too many files open", hint: openFiles },
	ENFILE: { what: "the machine has too many files open", hint: "see /proc/sys/fs/file-max" },
	ENOSPC: {
		what: "the machine has no terminal left; see /proc/sys/kernel/pty/max",
		hint: "end sessions with a terminal",
	},
	EAGAIN: { what: "there are too many processes", hint: "end some, or let its user have more: ulimit -u" },
	ENOMEM: { what: "there is not enough memory", hint: "end sessions, or try again later" },
};

/** What the caller is told if that is why something could not be started; undefined for any other reason. */
export function shortage(what: string, thrown: unknown): SessionError | undefined {
	const { code = "" } = thrown as NodeJS.ErrnoException;
	const found = Object.hasOwn(exhausted, code) ? exhausted[code] : undefined;
	if (!found) return undefined;
	const { what: reason, hint } = found;
	return new SessionError("limit_exceeded", `cannot start ${what}: ${reason} (${code})`, { hint, cause: thrown });
}
