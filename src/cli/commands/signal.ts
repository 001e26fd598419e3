/** `hawser signal`: sends a signal to a session's program. */

import { Command } from "commander";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";

export const signal: Command = withWorkspace(new Command("signal"))
	.summary("send a signal to a session's program")
	.description(
		"Sends one signal to a session's program; in a terminal, to the foreground process group. The program " +
			"may ignore it. To end a program for certain, use hawser kill.",
	)
	.argument("<session>", "session ID, name or prefix")
	.argument("<signal>", "signal name, such as INT, HUP or USR1")
	.addHelpText("after", "\nExamples:\n  hawser signal web HUP\n  hawser signal build INT")
	.action(async (wanted: string, name: string, flags: WorkspaceFlags) => {
		const { client } = await findServer(flags);
		const { id } = await findSession(client, wanted, flags);
		// Urgent: an interrupt overtakes input that the program does not read.
		await client.sessions.at(id).signal(name.toUpperCase(), { urgent: true });
	});
