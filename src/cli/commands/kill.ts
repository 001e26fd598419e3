/** `hawser kill`: ends programs, and everything they started. */

import { Command } from "commander";
import { forEachSession } from "../each-session.ts";
import { type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { duration } from "../parse.ts";

export const kill: Command = withWorkspace(new Command("kill"))
	.summary("end sessions' programs")
	.description(
		"Ends a session's program and everything it started: a signal, then after a while SIGKILL. What the " +
			"program wrote stays readable; hawser rm forgets it.",
	)
	.argument("<session...>", "ids, names, or the beginnings of either")
	.option("-s, --signal <name>", "what to send first, such as TERM or INT")
	.option("--grace <duration>", "how long they may take to end by themselves, such as 5s", duration)
	.addHelpText("after", "\nExamples:\n  hawser kill build\n  hawser kill --signal INT --grace 30s k3v9 p0q2")
	.action(
		async (wanted: string[], { signal, grace, ...flags }: WorkspaceFlags & { signal?: string; grace?: number }) => {
			await forEachSession(wanted, flags, async (session) => {
				await session.kill({
					...(signal === undefined ? {} : { killSignal: signal.toUpperCase() }),
					...(grace === undefined ? {} : { graceMs: grace }),
				});
			});
		},
	);
