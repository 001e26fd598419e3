/** `hawser detach`: detaches clients from a session. */

import { Command } from "commander";
import type { SessionMessage } from "../../client/index.ts";
import { enclosingSessions } from "../connect/caller-environment.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";
import { UsageError } from "../print/errors.ts";
import { printNotice } from "../print/output.ts";

type DetachFlags = WorkspaceFlags & { readonly others?: true };

export const detach: Command = withWorkspace(new Command("detach"))
	.summary("detach all clients from a session")
	.description(
		"Detaches all clients, terminals and browsers, from a session. The program keeps running. Inside a " +
			"session, --others detaches everyone except you (the client that typed last). From outside, use hawser " +
			"attach --detach-others.",
	)
	.argument("[session]", "session ID, name or prefix (default: the session you are in)")
	.option("--others", "all clients except yours")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser detach build\n  hawser detach --others\n  hawser attach --detach-others build",
	)
	.action(async (named: string | undefined, flags: DetachFlags) => {
		const own = enclosingSessions(process.env);
		const wanted = named ?? own[0];
		if (wanted === undefined) throw new UsageError("not inside a session; name one (see hawser ls)");
		const { client } = await findServer(flags);
		const session = await findSession(client, wanted, flags);
		if (flags.others && !own.includes(session.id)) throw notIn(session);
		const count = await client.sessions.at(session.id).detachAll(flags.others ? { keepWriter: true } : {});
		const none = flags.others ? "no other clients attached" : "no clients attached";
		printNotice(
			count === 0 ? none : `detached ${count} ${count === 1 ? "client" : "clients"}; the program keeps running`,
		);
	});

function notIn({ id, name }: SessionMessage): UsageError {
	const session = name ?? id;
	return new UsageError(
		`--others works only inside ${session}; use hawser detach ${session} or hawser attach --detach-others ${session}`,
	);
}
