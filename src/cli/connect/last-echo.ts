/**
 * Where a terminal showed the lines that `hawser send` typed last, so that a later `hawser wait --match` does not find
 * its text there. Only offsets are stored, because a line may be a password.
 */

import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Session } from "../../client/index.ts";
import { makePrivateDirectory } from "../../disk/private-directory.ts";
import { findStateDirectory } from "../../disk/state-path.ts";
import { echoLength, typedLines } from "../../words/typed-echo.ts";
import { byteAt, joined, type Run, textOf, VisibleText } from "../../words/visible-text.ts";

/** Longest wait for the echo. A program without echo, as at a password prompt, shows none. */
const ECHO_MS = 250;
/** A stored echo is removed after this time. */
const KEPT_MS = 60 * 60 * 1000;
/** Session ids as the server makes them, so that no id names another file. */
const ID = /^[a-z0-9]{1,64}$/;

/** A range of output offsets. */
type Echo = { readonly from: number; readonly to: number };

/** Waits for the echo of what was typed at this offset, and stores where it is. */
export async function noteEcho(session: Session, from: number, typed: string): Promise<void> {
	const lines = typedLines(typed);
	if (lines.length === 0 || !ID.test(session.id)) return;
	// The line was typed, so nothing here may fail the command: the session may have ended, or the disk be full.
	const to = await endOfEcho(session, from, lines).catch(() => undefined);
	if (to !== undefined) await store(session.id, { from, to }).catch(() => {});
}

/** The last stored echo of a session, unless it is too old. */
export async function lastEcho(id: string): Promise<Echo | undefined> {
	if (!ID.test(id)) return undefined;
	const path = join(folder(), id);
	try {
		if (Date.now() - (await stat(path)).mtimeMs > KEPT_MS) return undefined;
		const { from, to } = JSON.parse(await readFile(path, "utf8")) as Echo;
		return Number.isSafeInteger(from) && Number.isSafeInteger(to) ? { from, to } : undefined;
	} catch {
		return undefined;
	}
}

/** The parts of some output that are outside of an echo, with their offsets. */
export function withoutEcho(offset: number, bytes: Uint8Array, echo: Echo | undefined): Run[] {
	if (!echo) return [{ offset, bytes }];
	const end = offset + bytes.byteLength;
	const before = { offset, bytes: bytes.subarray(0, Math.max(0, echo.from - offset)) };
	const begin = Math.min(Math.max(echo.to, offset), end);
	const after = { offset: begin, bytes: bytes.subarray(begin - offset) };
	return [before, after].filter((part) => part.bytes.byteLength > 0);
}

/** The offset after the echo; undefined if the terminal shows something else, or nothing in time. */
async function endOfEcho(session: Session, from: number, lines: readonly string[]): Promise<number | undefined> {
	const deadline = performance.now() + ECHO_MS;
	const visible = new VisibleText({ hasReturns: false });
	const runs: Run[] = [];
	for (let next = from; ; ) {
		const left = Math.round(deadline - performance.now());
		if (left <= 0) return undefined;
		const output = await session.output(next, { wait: left, limit: 64 * 1024 });
		if (output.offset !== next || output.bytes.byteLength === 0) return undefined;
		next = output.next;
		runs.push(...visible.take(output.offset, output.bytes));
		const bytes = joined(runs.map((run) => run.bytes));
		const text = textOf(bytes);
		const length = echoLength(text, lines);
		const isWhole = text.slice(0, length).split("\n").length > lines.length;
		if (isWhole && text[length - 1] === "\n") return offsetAfter(runs, byteAt(bytes, length));
		if (length < text.length) return undefined;
	}
}

/** The output offset after so many bytes of visible text. */
function offsetAfter(runs: readonly Run[], count: number): number {
	let left = count;
	for (const { offset, bytes } of runs) {
		if (left <= bytes.byteLength) return offset + left;
		left -= bytes.byteLength;
	}
	throw new RangeError(`the text has fewer than ${count} bytes`);
}

function folder(): string {
	return join(findStateDirectory(undefined, process.env), "typed");
}

async function store(id: string, echo: Echo): Promise<void> {
	await makePrivateDirectory(folder());
	for (const name of await readdir(folder())) {
		const path = join(folder(), name);
		if (Date.now() - (await stat(path)).mtimeMs > KEPT_MS) await rm(path, { force: true });
	}
	await writeFile(join(folder(), id), JSON.stringify(echo), { mode: 0o600 });
}
