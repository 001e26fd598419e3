/** `hawser detach`: sends those away who are attached to a session. */

import { Command } from "commander";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { remark } from "../output.ts";

export const detach: Command = withWorkspace(new Command("detach"))
	.summary("detach everybody from a session")
	.description(
		"Ends every attachment to a session, in whichever terminal or browser it is; the program runs on. To be the only " +
			"one there, use hawser attach --detach-others.",
	)
	.argument("<session>", "its id, its name, or the beginning of either")
	.addHelpText("after", "\nExamples:\n  hawser detach build\n  hawser attach --detach-others build")
	.action(async (wanted: string, flags: WorkspaceFlags) => {
		const { client } = await findServer(flags);
		const { id } = await findSession(client, wanted, flags);
		const count = await client.sessions.at(id).detachAll();
		remark(count === 0 ? "nobody was attached" : `${count} detached; the program runs on`);
	});
