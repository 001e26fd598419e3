/** `hawser rm`: forgets sessions and what they wrote. */

import { Command } from "commander";
import { HawserError } from "../../client/index.ts";
import { nameOf } from "../describe-session.ts";
import { forEachSession } from "../each-session.ts";
import { UsageError } from "../errors.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";

export const remove: Command = withWorkspace(new Command("rm"))
	.summary("forget sessions")
	.description("Forgets sessions that have ended, with everything that was kept of them.")
	.argument("[session...]", "ids, names, or the beginnings of either")
	.option("--ended", "all that have ended")
	.option("-f, --force", "end those that still run, also if their keeper does not answer")
	.addHelpText("after", "\nExamples:\n  hawser rm build\n  hawser rm --force k3v9\n  hawser rm --ended --workspace ci")
	.action(async (wanted: string[], { force, ended, ...flags }: WorkspaceFlags & { force?: true; ended?: true }) => {
		if (ended ? wanted.length > 0 : wanted.length === 0)
			throw new UsageError("name the sessions to forget, or use --ended for all that have ended");
		await forEachSession(ended ? await idsOfEnded(flags) : wanted, flags, async (session, info) => {
			if (info.state === "running" && !force) {
				throw new UsageError(`session ${nameOf(info)} still runs; end it with hawser kill, or use --force`);
			}
			await session.remove().catch((error: unknown) => {
				if (!force || !(error instanceof HawserError) || error.code !== "node_unavailable") throw error;
				return session.remove({ force });
			});
		});
	});

async function idsOfEnded({ workspace, ...flags }: WorkspaceFlags): Promise<string[]> {
	const { client } = await findServer(flags);
	const filter = { state: ["closed", "lost"], ...(workspace === undefined ? {} : { workspace }) } as const;
	return (await client.sessions.list(filter)).map(({ id }) => id);
}
