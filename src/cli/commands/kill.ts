/** `hawser kill`: ends programs and all processes they started. */

import { Command } from "commander";
import { duration } from "../args/values.ts";
import { type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { forEachSession } from "../connect/for-each-session.ts";

export const kill: Command = withWorkspace(new Command("kill"))
	.summary("kill sessions' programs")
	.description(
		"Ends a session's program and all processes it started: a signal, then SIGKILL after a grace period. " +
			"The output stays readable until hawser rm.",
	)
	.argument("<session...>", "session IDs, names or prefixes")
	.option("-s, --signal <name>", "first signal to send, such as TERM or INT")
	.option("--grace <duration>", "time before SIGKILL, such as 5s", duration)
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
