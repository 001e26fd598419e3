/** `hawser attach`: come back to a session in this terminal. */

import { Command, InvalidArgumentError } from "commander";
import type { SizePolicy } from "../../client/index.ts";
import { type AttachHere, attachHere, refuseOwn } from "../attach-here.ts";
import { exitCodeOf, sentenceOf } from "../ending.ts";
import { endNotAttached, orNotAttached, UsageError } from "../errors.ts";
import { escapeOption } from "../escape-keys.ts";
import { findOrStartServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { LocalTerminal } from "../local-terminal.ts";
import { remark } from "../output.ts";
import { patience, sizePolicyOption, wholeNumber } from "../parse.ts";

type AttachFlags = WorkspaceFlags &
	AttachHere & {
		readonly detachOthers?: true;
		readonly sizePolicy?: SizePolicy;
	};

export const attach: Command = withWorkspace(new Command("attach"))
	.alias("a")
	.summary("use a session in this terminal")
	.description(
		"Shows a session in this terminal as it is now, and types into it. Every key goes to the program, " +
			"Ctrl-C too. Leave with ~. at the start of a line or Ctrl-] d; ~~ and Ctrl-] Ctrl-] type a ~ and a Ctrl-]. " +
			"Should the server go away, it waits for it and goes on where it was.\n\nThe exit code is the program's own " +
			"(128+n for a signal), 0 after leaving, 254 when the session or the way to it was lost, 255 when it could not be attached.",
	)
	.argument("[session]", "its id, its name, or the beginning of either (default: the most recent that runs)")
	.option("--view", "only watch: type nothing, and leave its size alone")
	.option("--take", "take control from whoever has it; the others watch")
	.option("-D, --detach-others", "detach everybody else first")
	.option("--all", "show everything that was kept")
	.option("--since <offset>", "show what comes from this byte on, or end for nothing old", offset)
	.addOption(sizePolicyOption())
	.addOption(escapeOption())
	.addOption(patience())
	.exitOverride(endNotAttached)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser attach\n  hawser attach build --view\n  hawser attach k3v9 --all\n  hawser attach k3v9 --since end",
	)
	.action((wanted: string | undefined, flags: AttachFlags) => orNotAttached(() => start(wanted, flags)));

async function start(wanted: string | undefined, flags: AttachFlags): Promise<void> {
	if (flags.view && flags.take) throw new UsageError("--view and --take exclude each other");
	if (flags.all && flags.since !== undefined) throw new UsageError("--all and --since exclude each other");
	if (!LocalTerminal.isThere) {
		throw new UsageError("this is not a terminal; use hawser logs -f to read and hawser send to write");
	}
	const { client } = await findOrStartServer(flags);
	const info = await findSession(client, wanted, { ...flags, running: true });
	refuseOwn(info);
	const session = client.sessions.at(info.id);
	if (flags.detachOthers) await session.detachAll();
	if (flags.sizePolicy) await session.setSizePolicy(flags.sizePolicy);
	const ending = await attachHere(session, info, flags);
	const sentence = sentenceOf(ending, wanted ?? info.name ?? info.id);
	if (sentence !== undefined) {
		// What is left on the screen may end in the middle of a line.
		process.stderr.write("\n");
		remark(sentence);
	}
	process.exitCode = exitCodeOf(ending);
}

function offset(text: string): number | "end" {
	if (text === "end") return text;
	try {
		return wholeNumber(text);
	} catch {
		throw new InvalidArgumentError("expected a whole number from 0 on, or end");
	}
}
