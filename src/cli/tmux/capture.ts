/** `capture-pane`: the rows of a terminal, and those that have scrolled off it, as tmux numbers them. */

import { setTimeout as pause } from "node:timers/promises";
import { HawserError, type Session } from "../../client/index.ts";
import { limits } from "../../protocol/messages.ts";
import { UsageError } from "../errors.ts";

/** Row 0 is the first that is shown, -1 the last above it; `-` is the first or the last of all. */
type Capture = {
	readonly start: string | undefined;
	readonly end: string | undefined;
	readonly colors: boolean;
	/** Rows that are filled to the end are one line with the next: the terminal does not say more than that. */
	readonly isJoined: boolean;
};

export async function capture(session: Session, { start, end, colors, isJoined }: Capture): Promise<string> {
	const wantsHistory = start !== undefined && (start === "-" || rowOf(start) < 0);
	const above = wantsHistory ? await patiently(() => history(session)) : undefined;
	const at = above ? { at: above.offset } : {};
	const screen = await patiently(() => session.screen(at));
	const shown = colors
		? (await patiently(() => session.screenText({ ...at, colors }))).split("\n")
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
	throw new UsageError(`capture-pane: there is no line ${text}`);
}

/** All that is kept above the screen, and where the output was then. */
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

/** How long others of this account may have the screens of the past for themselves. */
const TURN_MS = 20_000;
const PAUSE_MS = 50;

/** The server makes one earlier screen at a time for each caller; commands beside us are callers like us. */
async function patiently<T>(read: () => Promise<T>): Promise<T> {
	const deadline = performance.now() + TURN_MS;
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
