/** `hawser detach`: sends those away who are attached to a session. */

import { Command } from "commander";
import type { SessionMessage } from "../../client/index.ts";
import { UsageError } from "../errors.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { remark } from "../output.ts";
import { ownSessions } from "../own-environment.ts";

type DetachFlags = WorkspaceFlags & { readonly others?: true };

export const detach: Command = withWorkspace(new Command("detach"))
	.summary("detach everybody from a session")
	.description(
		"Ends every attachment to a session, in whichever terminal or browser it is; the program keeps running. With --others, in " +
			"a session, all but yours, which is the one that typed last. To be the only one in another session, use hawser " +
			"attach --detach-others.",
	)
	.argument("[session]", "its id, its name, or the beginning of either (default: the one that you are in)")
	.option("--others", "everybody but you")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser detach build\n  hawser detach --others\n  hawser attach --detach-others build",
	)
	.action(async (named: string | undefined, flags: DetachFlags) => {
		const own = ownSessions(process.env);
		const wanted = named ?? own[0];
		if (wanted === undefined) throw new UsageError("you are in no session: say which one is meant, as hawser ls does");
		const { client } = await findServer(flags);
		const session = await findSession(client, wanted, flags);
		if (flags.others && !own.includes(session.id)) throw notIn(session);
		const count = await client.sessions.at(session.id).detachAll(flags.others ? { keepWriter: true } : {});
		const who = flags.others ? "nobody else" : "nobody";
		remark(count === 0 ? `${who} was attached` : `${count} detached; the program keeps running`);
	});

function notIn({ id, name }: SessionMessage): UsageError {
	const session = name ?? id;
	return new UsageError(
		`you are not in ${session}, so everybody there is another: hawser detach ${session}, or hawser attach --detach-others ${session}`,
	);
}
