/** `hawser rename`: renames a session. */

import { Command } from "commander";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";

export const rename: Command = withWorkspace(new Command("rename"))
	.summary("rename a session")
	.description("Renames a session; its ID stays the same. A name is unique among the running sessions of a workspace.")
	.argument("<session>", "session ID, name or prefix")
	.argument("<name>", "new name; an empty string removes the name")
	.addHelpText("after", "\nExamples:\n  hawser rename k3v9 build\n  hawser rename build ''")
	.action(async (wanted: string, name: string, flags: WorkspaceFlags) => {
		const { client } = await findServer(flags);
		const { id } = await findSession(client, wanted, flags);
		await client.sessions.at(id).rename(name === "" ? null : name);
	});
