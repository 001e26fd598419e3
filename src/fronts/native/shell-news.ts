/** The commands of a session's shell that have ended, for who wants to hear of each once. */

import { basename } from "node:path";
import type { CommandNews } from "../../core/command-events.ts";
import type { Session, SessionSpec } from "../../core/session.ts";
import type { ShellCommand } from "../../core/shell-marks.ts";

/** Of those that ended while nobody listened, the newest so many of a session are told. */
const CAUGHT_UP = 100;

/** Whether it may be a shell that marks its commands so that nobody else can; whether it is, its keeper knows. */
export function mayMark({ mode, shellHooks, argv: [program = "", ...rest] }: SessionSpec): boolean {
	const isShell = /^-?(bash|zsh|fish)$/.test(basename(program));
	return mode === "pty" && shellHooks === true && isShell && rest.every((one) => one.startsWith("-") && one !== "-c");
}

/** Undefined for a shell whose marks anybody can print. */
export async function endedCommands(session: Session): Promise<readonly ShellCommand[] | undefined> {
	const { commands, isProven } = await session.commands();
	return isProven ? commands.filter(({ to }) => to !== null).slice(-CAUGHT_UP) : undefined;
}

/** Those that the news tell of; all there are, for a reader that has missed some, or has just come. */
export async function endedSince(
	session: Session,
	known: number | null,
	{ events, count }: CommandNews,
): Promise<readonly ShellCommand[] | undefined> {
	if (known === null || count - known !== events.length) return endedCommands(session);
	return events.flatMap(({ phase, command }) => (phase === "end" ? [command] : []));
}
