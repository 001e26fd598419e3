/** Signals as numbers, and back. */

import { constants } from "node:os";
import { parseSignal } from "../core/signals.ts";

const numbers: Readonly<Record<string, number>> = constants.signals;

/** Where a number has two names, the one that people use. */
const names = new Map<number, string>(Object.entries(numbers).map(([name, signo]) => [signo, name]));
for (const name of ["SIGABRT", "SIGIO", "SIGSYS", "SIGCHLD"]) {
	const signo = numbers[name];
	if (signo !== undefined) names.set(signo, name);
}

/** `SIGTERM` or `TERM`, in any case, as its number. */
export function signalNumber(name: string): number {
	const signo = numbers[parseSignal(name)];
	if (signo === undefined) throw new Error(`invariant: this system has no ${name}`);
	return signo;
}

/** The name of a signal that ended a program; a real-time signal has only its number. */
export function signalName(signo: number): string {
	return names.get(signo) ?? `SIG${signo}`;
}
