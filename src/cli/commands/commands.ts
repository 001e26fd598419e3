/** `hawser commands`: what a session's shell has run. */

import { Command } from "commander";
import type { ShellCommand } from "../../client/index.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { print, remark, table } from "../output.ts";
import { wholeNumber } from "../parse.ts";
import { safeJson } from "../safe-text.ts";

type CommandsFlags = WorkspaceFlags & { readonly lines?: number; readonly json?: true };

export const commands: Command = withWorkspace(new Command("commands"))
	.summary("what a session's shell has run")
	.description(
		"Lists the commands of a shell, oldest first: the number, the exit code or … while it runs, how long it took, where " +
			"its output begins, and the command. They are known of bash, zsh and fish that are sessions, and of whatever else " +
			"marks its commands (OSC 133 or 633).",
	)
	.argument("[session]", "its id, its name, or the beginning of either (default: the most recent)")
	.option("-n, --lines <count>", "the newest only, this many", wholeNumber)
	.option("--json", "print them as JSON")
	.addHelpText("after", "\nExamples:\n  hawser commands work\n  hawser logs work --since 1834")
	.action(async (wanted: string | undefined, flags: CommandsFlags) => {
		const { client } = await findServer(flags);
		const { id } = await findSession(client, wanted, flags);
		const list = await client.sessions.at(id).commands(flags.lines === undefined ? {} : { limit: flags.lines });
		if (flags.json) return print(`${safeJson(list)}\n`);
		if (list.commands.length === 0) return remark("no commands are known of this session");
		return print(table(["NUMBER", "EXIT", "TOOK", "OFFSET", "COMMAND"], list.commands.map(toRow)));
	});

function toRow({ seq, command, exitCode, output, startedAt, endedAt }: ShellCommand): string[] {
	const took = endedAt === null ? "" : `${((endedAt - startedAt) / 1000).toFixed(1)}s`;
	const text = command === null ? "?" : command.replaceAll(/\s*\n\s*/g, " ↵ ");
	return [String(seq), String(exitCode ?? "…"), took, String(output.from), text];
}
