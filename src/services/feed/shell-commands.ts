/** Finds the ended commands of a session's shell, so that each is reported once. */

import { basename } from "node:path";
import type { ShellCommand as CommandMessage } from "../../api/types.ts";
import type { Session } from "../../core/session/session.ts";
import type { SessionSpec } from "../../core/session/session-info.ts";
import type { CommandEventPage } from "../../core/shell/command-events.ts";
import type { ShellCommand } from "../../core/shell/shell-marks.ts";
import { isShell } from "../../core/shell/shell-prompt.ts";

/**
 * Only the newest commands that ended without a follower are reported.
 * @limit commands of a shell that ended without a follower | older ones are not reported
 */
const CAUGHT_UP = 100;

/** Whether this may be a shell with authentic command marks. Only its keeper knows whether it is. */
export function mayReportCommands({ mode, shellHooks, argv }: SessionSpec): boolean {
	const hasHooks = /^(bash|zsh|fish)$/.test(basename(argv[0] ?? ""));
	return mode === "pty" && shellHooks === true && hasHooks && isShell(argv);
}

/**
 * Undefined for a shell whose marks any program could print. An unfinished newest command is left out: a later event
 * reports its end.
 */
export async function endedCommands(session: Session): Promise<readonly ShellCommand[] | undefined> {
	const { commands, isProven, isNewestUnfinished } = await session.commands();
	const finished = isNewestUnfinished ? commands.slice(0, -1) : commands;
	return isProven ? finished.filter(({ to }) => to !== null).slice(-CAUGHT_UP) : undefined;
}

/** Commands that ended in these events; all ended ones for a reader that is new or has missed some. */
export async function endedSince(
	session: Session,
	known: number | null,
	{ events, count }: CommandEventPage,
): Promise<readonly ShellCommand[] | undefined> {
	if (known === null || count - known !== events.length) return endedCommands(session);
	return events.flatMap(({ phase, command }) => (phase === "end" ? [command] : []));
}

export function commandMessage({
	seq,
	command,
	exitCode,
	cwd,
	from,
	to,
	startedAt,
	endedAt,
}: ShellCommand): CommandMessage {
	return { seq, command, exitCode, cwd, output: { from, to }, startedAt, endedAt };
}
