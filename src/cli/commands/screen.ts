/** `hawser screen`: what a program's terminal shows. */

import { Command } from "commander";
import { UsageError } from "../errors.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { print } from "../output.ts";
import { place } from "../parse.ts";

type ScreenFlags = WorkspaceFlags & {
	readonly at?: number | Date;
	readonly color?: true;
	readonly json?: true;
};

export const screen: Command = withWorkspace(new Command("screen"))
	.summary("show what a session's terminal shows")
	.description(
		"Shows the text that a session's terminal shows now, or did at an earlier place, without attaching to it.",
	)
	.argument("[session]", "its id, its name, or the beginning of either (default: the most recent)")
	.option("--at <place>", "how it was at an offset of the output, or at a time such as 2026-01-31T12:00:00Z", place)
	.option("-c, --color", "with its colours")
	.option("--json", "with the cursor, the title and the size, as the server gives it")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser screen\n  hawser screen --color work\n  hawser screen --at 2026-01-31T12:00:00Z work",
	)
	.action(async (wanted: string | undefined, flags: ScreenFlags) => {
		if (flags.json && flags.color) throw new UsageError("--json and --color exclude each other");
		const at = flags.at === undefined ? {} : { at: flags.at };
		const { client } = await findServer(flags);
		const session = client.sessions.at((await findSession(client, wanted, flags)).id);
		if (flags.json) await print(`${JSON.stringify(await session.screen(at))}\n`);
		else await print(await session.screenText({ ...at, colors: flags.color === true }));
	});
