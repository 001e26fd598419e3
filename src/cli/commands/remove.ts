/** `hawser rm`: forgets sessions and what they wrote. */

import { Command } from "commander";
import { HawserError } from "../../client/index.ts";
import { forEachSession } from "../each-session.ts";
import { UsageError } from "../errors.ts";
import { type WorkspaceFlags, withWorkspace } from "../find-server.ts";

export const remove: Command = withWorkspace(new Command("rm"))
	.summary("forget sessions")
	.description("Forgets sessions that have ended, with everything that was kept of them.")
	.argument("<session...>", "ids, names, or the beginnings of either")
	.option("-f, --force", "end those that still run, also if their keeper does not answer")
	.addHelpText("after", "\nExamples:\n  hawser rm build\n  hawser rm --force k3v9")
	.action(async (wanted: string[], { force, ...flags }: WorkspaceFlags & { force?: true }) => {
		await forEachSession(wanted, flags, async (session, { state }) => {
			if (state === "running" && !force) {
				throw new UsageError(`session ${session.id} still runs; end it with hawser kill, or use --force`);
			}
			await session.remove().catch((error: unknown) => {
				if (!force || !(error instanceof HawserError) || error.code !== "node_unavailable") throw error;
				return session.remove({ force });
			});
		});
	});
