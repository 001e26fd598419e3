/** What a session's terminal shows, followed as it changes or waited for, across restarts of the server. */

import type { SessionMessage } from "../protocol/messages.ts";
import type { ScreenMessage } from "../protocol/screens.ts";
import { HawserError } from "./error.ts";
import { Backoff, defaultTimes, pause } from "./times.ts";
import type { ScreenCondition, WaitOptions, WaitResult } from "./wait.ts";

export type ScreenOptions = {
	/** The `revision` of a screen that was read: the answer has `changes` instead of `lines`, unless it says `reset`. */
	readonly since?: number;
	/** An offset, or a moment: how it was then, instead of now. */
	readonly at?: number | Date;
	/** How long to wait, in milliseconds, for what follows, or for a change since `since`; the server caps it at a minute. */
	readonly wait?: number;
	/** In one of its rows: to the letter, or an expression, of whose flags only `i` counts. `met` says whether it is there. */
	readonly text?: string | RegExp;
	readonly ignoreCase?: boolean;
	/** Its text is the same for so many milliseconds, from now on. */
	readonly stable?: number;
	/** The first and the last row that count for both, from zero on. */
	readonly region?: readonly [number, number];
	readonly signal?: AbortSignal;
};

export type EarlierOptions = Pick<ScreenOptions, "at" | "signal">;
export type ScreenTextOptions = EarlierOptions & { readonly colors?: boolean };

export type ScrollbackOptions = EarlierOptions & {
	/** How many rows above the screen are left out. */
	readonly skip?: number;
	/** How many are wanted above those: 100 by default, 1000 at most. */
	readonly limit?: number;
};

/** What a session is asked for. */
type Screened = {
	screen(options: ScreenOptions): Promise<ScreenMessage>;
	info(options: { readonly signal?: AbortSignal }): Promise<Pick<SessionMessage, "exit">>;
};

export type ScreenChangesOptions = {
	readonly signal?: AbortSignal;
	/** How long the server may be away, in milliseconds, before we give up; zero gives up at once. */
	readonly patienceMs?: number;
};

/** A screen with all of its rows. */
export type WholeScreen = ScreenMessage & { readonly lines: string[] };

/** How long one request waits. */
const WAIT_MS = 30_000;

/** As it is now, and again whenever it looks otherwise, until the session has ended. Ends without an error when the signal is aborted. */
export async function* screenChanges(
	session: Screened,
	{ signal, patienceMs = 0 }: ScreenChangesOptions = {},
): AsyncGenerator<WholeScreen, void, void> {
	let shown: WholeScreen | undefined;
	while (!signal?.aborted && !(shown && isLast(shown))) {
		const wanted = shown ? { since: shown.revision, wait: WAIT_MS } : {};
		const screen = await patiently(session, wanted, { signal, patienceMs });
		if (!screen) return;
		const next: WholeScreen = { ...screen, lines: screen.lines ?? withChanges(shown?.lines ?? [], screen) };
		const isSeen = shown === undefined || looksOf(next) !== looksOf(shown);
		shown = next;
		if (isSeen) yield next;
	}
}

export async function waitForScreen(
	session: Screened,
	condition: ScreenCondition,
	{ timeoutMs = Number.POSITIVE_INFINITY, signal }: WaitOptions,
): Promise<WaitResult> {
	signal?.throwIfAborted();
	const began = performance.now();
	for (;;) {
		const left = Math.max(0, timeoutMs - (performance.now() - began));
		// One that lasts has to fit in.
		const wait = Math.ceil(Math.min(left, "stable" in condition ? condition.stable + WAIT_MS : WAIT_MS));
		const screen = await patiently(session, { ...queryOf(condition), wait }, { signal, patienceMs: left });
		if (!screen) throw signal?.reason;
		const { offset } = screen;
		if (screen.met) return { kind: "stable" in condition ? "stable" : "screen", screen, offset };
		if (isLast(screen)) return endOf(session, offset, signal);
		if (left === 0) return { kind: "timeout", offset };
	}
}

function queryOf(condition: ScreenCondition): ScreenOptions {
	const { region } = condition;
	const rows = region ? { region } : {};
	if ("stable" in condition) return { stable: condition.stable, ...rows };
	const { screen: text, ignoreCase } = condition;
	return { text, ...(ignoreCase === undefined ? {} : { ignoreCase }), ...rows };
}

async function endOf(session: Screened, offset: number, signal: AbortSignal | undefined): Promise<WaitResult> {
	const { exit } = await session.info(signal ? { signal } : {});
	return exit ? { kind: "exit", exit, offset } : { kind: "lost", message: "the session was lost", offset };
}

type Patience = { readonly signal: AbortSignal | undefined; readonly patienceMs: number };

/** Nothing when we were told to stop. */
async function patiently(
	session: Screened,
	options: ScreenOptions,
	{ signal, patienceMs }: Patience,
): Promise<ScreenMessage | undefined> {
	const began = performance.now();
	const pauses = new Backoff(defaultTimes);
	for (;;) {
		try {
			return await session.screen({ ...options, ...(signal ? { signal } : {}) });
		} catch (error) {
			if (signal?.aborted) return undefined;
			const isTemporary = error instanceof HawserError && error.isTemporary;
			if (!isTemporary || performance.now() - began >= patienceMs) throw error;
		}
		await pause(pauses.next(), signal);
	}
}

function withChanges(lines: readonly string[], { rows, changes = [] }: ScreenMessage): string[] {
	const next = Array.from({ length: rows }, (_, row) => lines[row] ?? "");
	for (const { row, text } of changes) next[row] = text;
	return next.slice(0, next.findLastIndex((line) => line !== "") + 1);
}

/** Nothing can follow. */
function isLast({ state }: ScreenMessage): boolean {
	return state === "closed" || state === "lost";
}

function looksOf({ cols, rows, alternate, cursor, title, lines }: WholeScreen): string {
	return JSON.stringify([cols, rows, alternate, cursor, title, lines]);
}
