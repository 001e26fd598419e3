/** `hawser attach`: attaches this terminal to a session. */

import { Command, InvalidArgumentError } from "commander";
import type { SizePolicy } from "../../client/index.ts";
import { reconnectTimeoutOption, sizePolicyOption, wholeNumber } from "../args/values.ts";
import { type AttachHere, attachSession, rejectEnclosingSession } from "../attach/attach-session.ts";
import { escapeOption } from "../attach/escape-keys.ts";
import { exitCodeOf, outcomeMessage } from "../attach/outcome.ts";
import { findOrStartServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";
import { exitNotStarted, UsageError, withStartErrors } from "../print/errors.ts";
import { printNotice } from "../print/output.ts";
import { LocalTerminal } from "../terminal/local-terminal.ts";

type AttachFlags = WorkspaceFlags &
	AttachHere & {
		readonly detachOthers?: true;
		readonly sizePolicy?: SizePolicy;
	};

export const attach: Command = withWorkspace(new Command("attach"))
	.alias("a")
	.summary("attach this terminal to a session")
	.description(
		"Shows a session's current screen in this terminal and sends it your keys, including Ctrl-C. Detach " +
			"with ~. at the start of a line or Ctrl-] d; ~~ and Ctrl-] Ctrl-] send a literal ~ and Ctrl-]. If the " +
			"server goes down, attach waits for it and continues.\n\nExit code: the program's own (128+n for a " +
			"signal); 0 after detaching; 254 if the session or the connection was lost; 255 if attaching failed.",
	)
	.argument("[session]", "session ID, name or prefix (default: the most recent running session)")
	.option("--view", "view only: send no input and do not resize")
	.option("--take", "take exclusive control; other clients become viewers")
	.option("-D, --detach-others", "detach all other clients first")
	.option("--all", "show all retained output")
	.option("--since <offset>", 'start at this byte offset, or "end" for new output only', offset)
	.addOption(sizePolicyOption())
	.addOption(escapeOption())
	.addOption(reconnectTimeoutOption())
	.exitOverride(exitNotStarted)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser attach\n  hawser attach build --view\n  hawser attach k3v9 --all\n  hawser attach k3v9 --since end",
	)
	.action((wanted: string | undefined, flags: AttachFlags) => withStartErrors(() => start(wanted, flags)));

async function start(wanted: string | undefined, flags: AttachFlags): Promise<void> {
	if (flags.view && flags.take) throw new UsageError("--view and --take cannot be used together");
	if (flags.all && flags.since !== undefined) throw new UsageError("--all and --since cannot be used together");
	if (!LocalTerminal.isInteractive) {
		throw new UsageError("attach needs a terminal; use hawser logs -f to read and hawser send to write");
	}
	const { client } = await findOrStartServer(flags);
	const info = await findSession(client, wanted, { ...flags, running: true });
	rejectEnclosingSession(info);
	const session = client.sessions.at(info.id);
	if (flags.detachOthers) await session.detachAll();
	if (flags.sizePolicy) await session.setSizePolicy(flags.sizePolicy);
	const ending = await attachSession(session, info, flags);
	const message = outcomeMessage(ending, wanted ?? info.name ?? info.id);
	if (message !== undefined) {
		// The cursor may be inside a line.
		process.stderr.write("\n");
		printNotice(message);
	}
	process.exitCode = exitCodeOf(ending);
}

function offset(text: string): number | "end" {
	if (text === "end") return text;
	try {
		return wholeNumber(text);
	} catch {
		throw new InvalidArgumentError('expected a byte offset or "end"');
	}
}
