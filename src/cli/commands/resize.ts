/** `hawser resize`: another size for a session's terminal. */

import { Command } from "commander";
import { UsageError } from "../errors.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { size } from "../parse.ts";

export const resize: Command = withWorkspace(new Command("resize"))
	.summary("give a session another size")
	.description("Gives a session's terminal another size; its program is told, as if somebody had pulled at the window.")
	.argument("<session>", "its id, its name, or the beginning of either")
	.argument("<size>", "columns and rows, such as 120x40", size)
	.addHelpText("after", "\nExamples:\n  hawser resize build 120x40")
	.action(async (wanted: string, wantedSize: { cols: number; rows: number }, flags: WorkspaceFlags) => {
		const { client } = await findServer(flags);
		const { id, mode } = await findSession(client, wanted, flags);
		if (mode !== "pty") throw new UsageError(`session ${wanted} has no terminal: it runs on pipes`);
		await client.sessions.at(id).resize(wantedSize);
	});
