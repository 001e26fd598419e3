/** `hawser commands`: lists the commands run in a session's shell. */

import { Command } from "commander";
import type { ShellCommand } from "../../client/index.ts";
import { wholeNumber } from "../args/values.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";
import { print, printNotice, table } from "../print/output.ts";
import { safeJson } from "../print/safe-text.ts";

type CommandsFlags = WorkspaceFlags & { readonly lines?: number; readonly json?: true };

export const commands: Command = withWorkspace(new Command("commands"))
	.summary("list commands run in a session's shell")
	.description(
		"Lists the commands of a shell, oldest first: number, exit code (… while running), duration, output " +
			"offset and command line. Works in bash, zsh and fish sessions, and with any program that marks its " +
			"commands (OSC 133 or 633).",
	)
	.argument("[session]", "session ID, name or prefix (default: the most recent session)")
	.option("-n, --lines <count>", "print only the last <count> commands", wholeNumber)
	.option("--json", "print as JSON")
	.addHelpText("after", "\nExamples:\n  hawser commands work\n  hawser logs work --since 1834")
	.action(async (wanted: string | undefined, flags: CommandsFlags) => {
		const { client } = await findServer(flags);
		const { id } = await findSession(client, wanted, flags);
		const list = await client.sessions.at(id).commands(flags.lines === undefined ? {} : { limit: flags.lines });
		if (flags.json) return print(`${safeJson(list)}\n`);
		if (list.commands.length === 0) return printNotice("no commands recorded in this session");
		return print(table(["NUMBER", "EXIT", "DURATION", "OFFSET", "COMMAND"], list.commands.map(toRow)));
	});

function toRow({ seq, command, exitCode, output, startedAt, endedAt }: ShellCommand): string[] {
	const took = endedAt === null ? "" : `${((endedAt - startedAt) / 1000).toFixed(1)}s`;
	const text = command === null ? "?" : command.replaceAll(/\s*\n\s*/g, " ↵ ");
	return [String(seq), String(exitCode ?? "…"), took, String(output.from), text];
}
