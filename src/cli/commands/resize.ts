/** `hawser resize`: resizes a session's terminal. */

import { Command } from "commander";
import { size } from "../args/values.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";
import { UsageError } from "../print/errors.ts";

export const resize: Command = withWorkspace(new Command("resize"))
	.summary("resize a session's terminal")
	.description("Sets the size of a session's terminal. The program is notified as if its window had been resized.")
	.argument("<session>", "session ID, name or prefix")
	.argument("<size>", "columns and rows, such as 120x40", size)
	.addHelpText("after", "\nExamples:\n  hawser resize build 120x40")
	.action(async (wanted: string, wantedSize: { cols: number; rows: number }, flags: WorkspaceFlags) => {
		const { client } = await findServer(flags);
		const { id, mode } = await findSession(client, wanted, flags);
		if (mode !== "pty") throw new UsageError(`session ${wanted} has no terminal (it uses pipes)`);
		await client.sessions.at(id).resize(wantedSize);
	});
