/** `hawser grep`: searches a session's output. */

import { Command } from "commander";
import type { SearchMatch } from "../../client/index.ts";
import { wholeNumber } from "../args/values.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";
import { UsageError } from "../print/errors.ts";
import { print } from "../print/output.ts";
import { safeText } from "../print/safe-text.ts";

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
	.summary("search a session's output")
	.description(
		"Prints the lines of a session's retained output that match, without colors and cursor movement. Each " +
			"update of a progress bar is a line. Exits with 0 if a line matched, 1 if not.",
	)
	.argument("<pattern>", "JavaScript regular expression, or literal text with -F")
	.argument("[session]", "session ID, name or prefix (default: the most recent session)")
	.option("-i, --ignore-case", "ignore case")
	.option("-F, --fixed", "treat the pattern as literal text")
	.option("-E, --regexp", "treat the pattern as a regular expression (default)")
	.option("-n, --lines <count>", "stop after <count> matches", wholeNumber)
	.option("--since <offset>", "search from this byte offset", wholeNumber, 0)
	.option("-b, --byte-offset", "print the byte offset of each match")
	.option("-t, --time", "print the time of each line")
	.option("--json", "print one JSON object per match")
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
	if (fixed && regexp) throw new UsageError("-F and -E cannot be used together");
	if (pattern === "") throw new UsageError("empty pattern; use hawser logs to print every line");
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
