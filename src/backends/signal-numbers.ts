/** Converts signals between names and numbers. */

import { constants } from "node:os";
import { parseSignal } from "../core/process/signals.ts";

const numbers: Readonly<Record<string, number>> = constants.signals;

/** Names by number. If there are two names, the common one. */
const names = new Map<number, string>(Object.entries(numbers).map(([name, signo]) => [signo, name]));
for (const name of ["SIGABRT", "SIGIO", "SIGSYS", "SIGCHLD"]) {
	const signo = numbers[name];
	if (signo !== undefined) names.set(signo, name);
}

/** The number of `SIGTERM` or `TERM`, in any case. */
export function signalNumber(name: string): number {
	const signo = numbers[parseSignal(name)];
	if (signo === undefined) throw new Error(`invariant: unknown signal ${name}`);
	return signo;
}

/** The name of a signal. A real-time signal has only a number. */
export function signalName(signo: number): string {
	return names.get(signo) ?? `SIG${signo}`;
}
