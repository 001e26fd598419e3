/** Exit codes and texts in the wording of Go, which execd's clients expect. */

import type { Exit } from "../../../words/state.ts";

/** -1 for a signal and for an unknown end. */
export function exitCodeOf(exit: Exit | null): number {
	return exit?.code ?? -1;
}

/** Undefined for success. */
export function errorTextOf(exit: Exit | null): string | undefined {
	if (exit === null) return "the command was lost; how it ended is unknown";
	if (exit.code === 0) return undefined;
	if (exit.code !== null) return `exit status ${exit.code}`;
	return `signal: ${signalWords[exit.signal ?? ""] ?? exit.signal}`;
}

const signalWords: Readonly<Record<string, string>> = {
	SIGHUP: "hangup",
	SIGINT: "interrupt",
	SIGQUIT: "quit",
	SIGILL: "illegal instruction",
	SIGTRAP: "trace/breakpoint trap",
	SIGABRT: "aborted",
	SIGBUS: "bus error",
	SIGFPE: "floating point exception",
	SIGKILL: "killed",
	SIGUSR1: "user defined signal 1",
	SIGSEGV: "segmentation fault",
	SIGUSR2: "user defined signal 2",
	SIGPIPE: "broken pipe",
	SIGALRM: "alarm clock",
	SIGTERM: "terminated",
	SIGXCPU: "CPU time limit exceeded",
	SIGXFSZ: "file size limit exceeded",
	SIGSYS: "bad system call",
};
