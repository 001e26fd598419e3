/** `hawser logs`: what a program has written, and what it goes on to write. */

import { Command } from "commander";
import { follow, type Output, type Session } from "../../client/index.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { print, remark } from "../output.ts";
import { PATIENCE_MS, wholeNumber } from "../parse.ts";
import { ReadableOutput } from "../safe-text.ts";

type LogsFlags = WorkspaceFlags & { readonly follow?: true; readonly since: number; readonly raw?: true };

export const logs: Command = withWorkspace(new Command("logs"))
	.summary("show a session's output")
	.description(
		"Shows what a session's program has written. Into a file or a pipe go the exact bytes; on a terminal " +
			"only text and colours, because output could otherwise act on the terminal, unless --raw says so.",
	)
	.argument("[session]", "its id, its name, or the beginning of either (default: the most recent)")
	.option("-f, --follow", "go on until the program has ended, also when the server is restarted")
	.option("--since <offset>", "from this byte on", wholeNumber, 0)
	.option("--raw", "the exact bytes on a terminal, too")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser logs\n  hawser logs -f build\n  hawser logs --since 4096 k3v9 > rest.log",
	)
	.action(async (wanted: string | undefined, flags: LogsFlags) => {
		const { client } = await findServer(flags);
		const session = client.sessions.at((await findSession(client, wanted, flags)).id);
		const isReadable = process.stdout.isTTY && !flags.raw ? new ReadableOutput() : undefined;
		for await (const output of flags.follow ? following(session, flags.since) : existing(session, flags.since)) {
			if (output.gap) remark(`bytes ${output.gap.from} to ${output.gap.to} are gone (${output.gap.reason})`);
			await print(isReadable ? isReadable.push(output.bytes) : output.bytes);
			if (output.state === "lost" && output.isLast) remark("the session was lost: the output ends here");
		}
		if (isReadable) await print(isReadable.end());
	});

/** What there is by now; a program that never stops writing does not keep us. */
async function* existing(session: Session, since: number): AsyncGenerator<Output, void, void> {
	const first = await session.output(since);
	yield first;
	for (let next = first.next; next < first.end; ) {
		const output = await session.output(next, { limit: Math.min(1024 * 1024, first.end - next) });
		yield output;
		next = output.next;
	}
}

function following(session: Session, since: number): AsyncGenerator<Output, void, void> {
	return follow(session, since, {
		patienceMs: PATIENCE_MS,
		onLost: () => remark("the server is away; waiting for it"),
		onFound: () => remark("the server is back"),
	});
}
