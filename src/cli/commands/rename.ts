/** `hawser rename`: another name for a session. */

import { Command } from "commander";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";

export const rename: Command = withWorkspace(new Command("rename"))
	.summary("give a session another name")
	.description("Gives a session another name; its id stays. A name stands for one running session of its workspace.")
	.argument("<session>", "its id, its name, or the beginning of either")
	.argument("<name>", "what to call it from now on; empty for no name")
	.addHelpText("after", "\nExamples:\n  hawser rename k3v9 build\n  hawser rename build ''")
	.action(async (wanted: string, name: string, flags: WorkspaceFlags) => {
		const { client } = await findServer(flags);
		const { id } = await findSession(client, wanted, flags);
		await client.sessions.at(id).rename(name === "" ? null : name);
	});
