/** `hawser grep`: the lines in which something is, of everything that a program has written. */

import { Command } from "commander";
import type { SearchMatch } from "../../client/index.ts";
import { UsageError } from "../errors.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { print } from "../output.ts";
import { wholeNumber } from "../parse.ts";
import { safeText } from "../safe-text.ts";

type GrepFlags = WorkspaceFlags & {
	readonly ignoreCase?: true;
	readonly fixed?: true;
	readonly regexp?: true;
	readonly lines?: number;
	readonly since: number;
	readonly byteOffset?: true;
	readonly time?: true;
	readonly json?: true;
};

const NOTHING_FOUND = 1;
const HIGHLIGHT = "\u001b[1;31m";
const PLAIN = "\u001b[0m";

export const grep: Command = withWorkspace(new Command("grep"))
	.summary("find lines in a session's output")
	.description(
		"Shows the lines that match, of everything that a session's program has written and that is kept, without colours " +
			"and cursor movements; each update of a progress bar is a line. Ends with 0 when there was one, and 1 when not.",
	)
	.argument("<pattern>", "a regular expression as JavaScript has them, or with -F a text")
	.argument("[session]", "its id, the beginning of it, or its name (default: the most recent)")
	.option("-i, --ignore-case", "capital letters and small ones are the same")
	.option("-F, --fixed", "take the pattern to the letter")
	.option("-E, --regexp", "take it as a regular expression (the default)")
	.option("-n, --lines <count>", "at most this many", wholeNumber)
	.option("--since <offset>", "look at output from this byte on", wholeNumber, 0)
	.option("-b, --byte-offset", "say before each line at which byte of the output the match begins")
	.option("-t, --time", "say before each line when it was written")
	.option("--json", "one object for each line, as the server gives them")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser grep 'error|warning' build\n  hawser grep -iF 'listening on' web -n 1\n" +
			"  hawser logs build --since $(hawser grep -b -n 1 FAIL build | cut -d: -f1)",
	)
	.action(async (pattern: string, wanted: string | undefined, flags: GrepFlags) => {
		const what = expression(pattern, flags);
		const { client } = await findServer(flags);
		const session = client.sessions.at((await findSession(client, wanted, flags)).id);
		const { ignoreCase = false, since, lines = Number.POSITIVE_INFINITY } = flags;
		let found = 0;
		if (lines > 0) {
			for await (const match of session.search(what, { ignoreCase, since })) {
				await print(`${flags.json ? JSON.stringify(match) : lineOf(match, flags)}\n`);
				if (++found >= lines) break;
			}
		}
		if (found === 0) process.exitCode = NOTHING_FOUND;
	});

function expression(pattern: string, { fixed, regexp }: GrepFlags): string | RegExp {
	if (fixed && regexp) throw new UsageError("a pattern is one of both: -F or -E");
	if (pattern === "") throw new UsageError("an empty pattern is in every line: hawser logs shows them");
	if (fixed) return pattern;
	try {
		return new RegExp(pattern);
	} catch (error) {
		throw new UsageError(error instanceof Error ? error.message : String(error));
	}
}

function lineOf(
	{ text, at: [begin, end], offset, time }: SearchMatch,
	{ byteOffset, time: isTimed }: GrepFlags,
): string {
	const prefix = `${isTimed ? `${new Date(time).toISOString()} ` : ""}${byteOffset ? `${offset}:` : ""}`;
	if (!process.stdout.isTTY) return prefix + text;
	const parts = [text.slice(0, begin), text.slice(begin, end), text.slice(end)].map(safeText);
	return `${prefix}${parts[0]}${HIGHLIGHT}${parts[1]}${PLAIN}${parts[2]}`;
}
