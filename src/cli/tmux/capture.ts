/** `capture-pane`: screen rows and scrollback with tmux's numbering. */

import { setTimeout as pause } from "node:timers/promises";
import { limits } from "../../api/messages.ts";
import { HawserError, type Session } from "../../client/index.ts";
import { UsageError } from "../print/errors.ts";

/** Row 0 is the first visible row, -1 the last row of the scrollback; `-` is the first or the last of all. */
type Capture = {
	readonly start: string | undefined;
	readonly end: string | undefined;
	readonly colors: boolean;
	/** Joins full rows with the next: the screen does not show which rows were wrapped. */
	readonly isJoined: boolean;
};

export async function capture(session: Session, { start, end, colors, isJoined }: Capture): Promise<string> {
	const wantsHistory = start !== undefined && (start === "-" || rowOf(start) < 0);
	const above = wantsHistory ? await retryWhileBusy(() => history(session)) : undefined;
	const at = above ? { at: above.offset } : {};
	const screen = await retryWhileBusy(() => session.screen(at));
	const shown = colors
		? (await retryWhileBusy(() => session.screenText({ ...at, colors }))).split("\n")
		: (screen.lines ?? []);
	const rows = Array.from({ length: screen.rows }, (_, row) => shown[row] ?? "");
	const history_ = above?.lines ?? [];
	const all = [...history_, ...rows];
	const first = start === undefined ? 0 : start === "-" ? -history_.length : rowOf(start);
	const last = end === undefined || end === "-" ? rows.length - 1 : rowOf(end);
	const wanted = all.slice(Math.max(0, first + history_.length), Math.max(0, last + history_.length + 1));
	const lines = isJoined ? joined(wanted, screen.cols) : wanted;
	return lines.map((line) => `${line}\n`).join("");
}

function rowOf(text: string): number {
	const row = Number(text);
	if (Number.isInteger(row)) return row;
	throw new UsageError(`capture-pane: invalid line: ${text}`);
}

/** The whole scrollback, and the output offset at which it was read. */
async function history(session: Session): Promise<{ readonly offset: number; readonly lines: string[] }> {
	const newest = await session.scrollback({ limit: limits.maxListed });
	const lines = [...newest.lines];
	while (lines.length < newest.total) {
		const page = await session.scrollback({ at: newest.offset, skip: lines.length, limit: limits.maxListed });
		if (page.lines.length === 0) break;
		lines.unshift(...page.lines);
	}
	return { offset: newest.offset, lines };
}

function joined(rows: readonly string[], cols: number): string[] {
	const lines: string[] = [];
	let isFull = false;
	for (const row of rows) {
		if (isFull) lines.push((lines.pop() ?? "") + row);
		else lines.push(row);
		isFull = row.length === cols;
	}
	return lines;
}

/** How long to retry while other commands of this account use the server's renderer. */
const RETRY_MS = 20_000;
const PAUSE_MS = 50;

/** The server renders one past screen at a time per caller, and all commands of a user are the same caller. */
async function retryWhileBusy<T>(read: () => Promise<T>): Promise<T> {
	const deadline = performance.now() + RETRY_MS;
	for (;;) {
		try {
			return await read();
		} catch (error) {
			const isBusy = error instanceof HawserError && error.code === "limit_exceeded";
			if (!isBusy || performance.now() > deadline) throw error;
		}
		await pause(PAUSE_MS);
	}
}
