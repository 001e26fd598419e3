/** `hawser signal`: sends one signal, and nothing else. */

import { Command } from "commander";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";

export const signal: Command = withWorkspace(new Command("signal"))
	.summary("send a signal to a program")
	.description(
		"Sends one signal to the program in a session, in a terminal to what is in the foreground there. Whether it ends " +
			"by that is its own business; hawser kill sees to it.",
	)
	.argument("<session>", "its id, its name, or the beginning of either")
	.argument("<signal>", "such as INT, HUP or USR1")
	.addHelpText("after", "\nExamples:\n  hawser signal web HUP\n  hawser signal build INT")
	.action(async (wanted: string, name: string, flags: WorkspaceFlags) => {
		const { client } = await findServer(flags);
		const { id } = await findSession(client, wanted, flags);
		// It overtakes input that the program does not read: an interrupt is for such programs, too.
		await client.sessions.at(id).signal(name.toUpperCase(), { urgent: true });
	});
