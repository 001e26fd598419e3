/** `hawser logs`: what a program has written, and what it goes on to write. */

import { Command } from "commander";
import { follow, type Output, type Session } from "../../client/index.ts";
import { UsageError } from "../errors.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { print, remark } from "../output.ts";
import { PATIENCE_MS, wholeNumber } from "../parse.ts";
import { ReadableOutput, safeText } from "../safe-text.ts";

type LogsFlags = WorkspaceFlags & {
	readonly follow?: true;
	readonly since?: number;
	readonly lines?: number;
	readonly raw?: true;
	readonly text?: true;
	readonly max?: number;
	readonly redact?: true;
};

export const logs: Command = withWorkspace(new Command("logs"))
	.summary("show a session's output")
	.description(
		"Shows what a session's program has written. Into a file or a pipe go the exact bytes; on a terminal " +
			"only text and colours, because output could otherwise act on the terminal, unless --raw says so.",
	)
	.argument("[session]", "its id, its name, or the beginning of either (default: the most recent)")
	.option("-f, --follow", "go on until the program has ended, also when the server is restarted")
	.option("-n, --lines <number>", "only the last lines", wholeNumber)
	.option("--since <offset>", "from this byte on", wholeNumber)
	.option("--raw", "the exact bytes on a terminal, too")
	.option("--text", "as small text: drawn over and repeated lines once, and the middle of much left out")
	.option("--max <bytes>", "with --text: how long it may be (default: 9600, at most 80000)", wholeNumber)
	.option("--redact", "with --text: without keys and tokens, as far as they are known by their form")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser logs\n  hawser logs -f build\n  hawser logs -n 20 build\n  hawser logs --since 4096 k3v9 > rest.log\n  hawser logs --text --max 2000 build",
	)
	.action(async (wanted: string | undefined, flags: LogsFlags) => {
		if (flags.lines !== undefined && flags.since !== undefined)
			throw new UsageError("--lines and --since exclude each other");
		if (flags.text && (flags.follow || flags.raw)) throw new UsageError("--text goes with neither --follow nor --raw");
		if ((flags.max !== undefined || flags.redact) && !flags.text)
			throw new UsageError("--max and --redact need --text");
		const { client } = await findServer(flags);
		const { id, offsets } = await findSession(client, wanted, flags);
		const session = client.sessions.at(id);
		const since = flags.lines === undefined ? (flags.since ?? 0) : await lastLines(session, offsets, flags.lines);
		if (flags.text) {
			const { text, gap } = await session.text(since, {
				...(flags.max === undefined ? {} : { max: flags.max }),
				redact: flags.redact === true,
			});
			if (gap) remark(`bytes ${gap.from} to ${gap.to} are gone (${gap.reason})`);
			return print(process.stdout.isTTY ? safeText(text) : text);
		}
		const isReadable = process.stdout.isTTY && !flags.raw ? new ReadableOutput() : undefined;
		for await (const output of flags.follow ? following(session, since) : existing(session, since)) {
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

/** What is looked at first for the beginning of the last lines: some hundred of them. */
const FIRST_LOOK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** Where the last lines begin; what comes after the last line's end is a line of its own. */
async function lastLines(
	session: Session,
	{ oldest, end }: { readonly oldest: number; readonly end: number },
	count: number,
): Promise<number> {
	for (let look = FIRST_LOOK_BYTES; ; look *= 4) {
		const from = Math.max(oldest, end - look);
		const bytes = await read(session, from, end);
		let start = bytes.byteLength - (bytes.at(-1) === NEWLINE ? 1 : 0);
		let missing = count;
		// Before the last newline that is not at the end there is another line.
		while (missing > 0 && start >= 0) {
			start = start === 0 ? -1 : bytes.lastIndexOf(NEWLINE, start - 1);
			missing--;
		}
		if (count === 0) return end;
		if (start >= 0) return from + start + 1;
		if (from === oldest) return oldest;
	}
}

async function read(session: Session, from: number, end: number): Promise<Buffer> {
	const parts: Uint8Array[] = [];
	for (let next = from; next < end; ) {
		const output = await session.output(next, { limit: Math.min(1024 * 1024, end - next) });
		parts.push(output.bytes);
		if (output.next === next) break;
		next = output.next;
	}
	return Buffer.concat(parts);
}
