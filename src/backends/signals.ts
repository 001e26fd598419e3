/** Signals by name, and back. */

import { constants } from "node:os";
import { SessionError } from "../core/errors.ts";

const numbers: Readonly<Record<string, number>> = constants.signals;

/** Where a number has two names, the one that people use. */
const names = new Map<number, string>(Object.entries(numbers).map(([name, signo]) => [signo, name]));
for (const name of ["SIGABRT", "SIGIO", "SIGSYS", "SIGCHLD"]) {
	const signo = numbers[name];
	if (signo !== undefined) names.set(signo, name);
}

/** `SIGTERM` or `TERM`, in any case, as its number. */
export function parseSignal(name: string): number {
	const upper = name.toUpperCase();
	const full = upper.startsWith("SIG") ? upper : `SIG${upper}`;
	const signo = Object.hasOwn(numbers, full) ? numbers[full] : undefined;
	if (signo === undefined)
		throw new SessionError("invalid_argument", `unknown signal ${JSON.stringify(name)}; expected a name like SIGTERM`);
	return signo;
}

/** The name of a signal that ended a program; a real-time signal has only its number. */
export function signalName(signo: number): string {
	return names.get(signo) ?? `SIG${signo}`;
}
