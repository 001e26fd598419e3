/** `hawser logs`: prints a session's output. */

import { Command } from "commander";
import { follow, type Output, offsetsOf, type Session } from "../../client/index.ts";
import { RECONNECT_TIMEOUT_MS, wholeNumber } from "../args/values.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";
import { UsageError } from "../print/errors.ts";
import { print, printNotice } from "../print/output.ts";
import { SafeOutputDecoder, safeText } from "../print/safe-text.ts";

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
	.summary("print a session's output")
	.description(
		"Prints the output of a session's program. Files and pipes get the exact bytes. A terminal gets text " +
			"and colors only, because raw output could control the terminal; --raw prints everything.",
	)
	.argument("[session]", "session ID, name or prefix (default: the most recent session)")
	.option("-f, --follow", "follow until the program ends, across server restarts")
	.option("-n, --lines <number>", "only the last <number> lines", wholeNumber)
	.option("--since <offset>", "start at this byte offset", wholeNumber)
	.option("--raw", "print the exact bytes to a terminal, too")
	.option("--text", "compact text: overwritten and repeated lines once, long output shortened in the middle")
	.option("--max <bytes>", "with --text: maximum size in bytes (default: 9600, at most 80000)", wholeNumber)
	.option("--redact", "with --text: remove keys and tokens that have a known format")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser logs\n  hawser logs -f build\n  hawser logs -n 20 build\n  hawser logs --since 4096 k3v9 > rest.log\n  hawser logs --text --max 2000 build",
	)
	.action(async (wanted: string | undefined, flags: LogsFlags) => {
		if (flags.lines !== undefined && flags.since !== undefined)
			throw new UsageError("--lines and --since cannot be used together");
		if (flags.text && (flags.follow || flags.raw)) throw new UsageError("--text cannot be used with --follow or --raw");
		if ((flags.max !== undefined || flags.redact) && !flags.text)
			throw new UsageError("--max and --redact need --text");
		const { client } = await findServer(flags);
		const info = await findSession(client, wanted, flags);
		const session = client.sessions.at(info.id);
		const since =
			flags.lines === undefined ? (flags.since ?? 0) : await lastLines(session, offsetsOf(info), flags.lines);
		if (flags.text) {
			const { text, gap } = await session.text(since, {
				...(flags.max === undefined ? {} : { max: flags.max }),
				redact: flags.redact === true,
			});
			if (gap) printNotice(`bytes ${gap.from} to ${gap.to} are no longer available (${gap.reason})`);
			return print(process.stdout.isTTY ? safeText(text) : text);
		}
		const isReadable = process.stdout.isTTY && !flags.raw ? new SafeOutputDecoder() : undefined;
		for await (const output of flags.follow ? followOutput(session, since) : readNow(session, since)) {
			if (output.gap)
				printNotice(`bytes ${output.gap.from} to ${output.gap.to} are no longer available (${output.gap.reason})`);
			await print(isReadable ? isReadable.push(output.bytes) : output.bytes);
			if (output.state === "lost" && output.isLast) printNotice("the session was lost; the output ends here");
		}
		if (isReadable) await print(isReadable.end());
	});

/** Reads up to the current end, so that a program that keeps writing does not keep this command running. */
async function* readNow(session: Session, since: number): AsyncGenerator<Output, void, void> {
	const first = await session.output(since);
	yield first;
	for (let next = first.next; next < first.end; ) {
		const output = await session.output(next, { limit: Math.min(1024 * 1024, first.end - next) });
		yield output;
		next = output.next;
	}
}

function followOutput(session: Session, since: number): AsyncGenerator<Output, void, void> {
	return follow(session, since, {
		reconnectTimeoutMs: RECONNECT_TIMEOUT_MS,
		onLost: () => printNotice("server unreachable; reconnecting"),
		onFound: () => printNotice("reconnected"),
	});
}

/** First step back from the end when looking for the last lines; some hundred lines. */
const FIRST_STEP_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** The offset where the last lines start. An unterminated last line counts. */
async function lastLines(
	session: Session,
	{ oldest, end }: { readonly oldest: number; readonly end: number },
	count: number,
): Promise<number> {
	for (let look = FIRST_STEP_BYTES; ; look *= 4) {
		const from = Math.max(oldest, end - look);
		const bytes = await read(session, from, end);
		let start = bytes.byteLength - (bytes.at(-1) === NEWLINE ? 1 : 0);
		let missing = count;
		// Each newline except the last one ends another line.
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
