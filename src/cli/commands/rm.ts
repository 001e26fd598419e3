/** `hawser rm`: deletes sessions and their output. */

import { Command } from "commander";
import { HawserError } from "../../client/index.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { forEachSession } from "../connect/for-each-session.ts";
import { UsageError } from "../print/errors.ts";
import { displayName } from "../print/session-text.ts";

export const remove: Command = withWorkspace(new Command("rm"))
	.summary("delete sessions")
	.description("Deletes ended sessions and everything recorded for them.")
	.argument("[session...]", "session IDs, names or prefixes")
	.option("--ended", "delete all ended sessions")
	.option("-f, --force", "kill running sessions first, even if their keeper does not respond")
	.addHelpText("after", "\nExamples:\n  hawser rm build\n  hawser rm --force k3v9\n  hawser rm --ended --workspace ci")
	.action(async (wanted: string[], { force, ended, ...flags }: WorkspaceFlags & { force?: true; ended?: true }) => {
		if (ended ? wanted.length > 0 : wanted.length === 0)
			throw new UsageError("missing session; use --ended to delete all ended sessions");
		await forEachSession(ended ? await idsOfEnded(flags) : wanted, flags, async (session, info) => {
			if (info.state === "running" && !force) {
				throw new UsageError(`session ${displayName(info)} is running; kill it first, or use --force`);
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
