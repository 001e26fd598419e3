/** A session's screen: reading it, waiting for a condition, and following changes across server restarts. */

import type { ScreenMessage, SessionMessage } from "../../api/types.ts";
import { askRepeatedly, endOf, WAIT_MS } from "../output/long-poll.ts";
import type { ScreenCondition, WaitOptions, WaitResult } from "../output/wait.ts";

export type ScreenOptions = {
	/** `revision` of an earlier screen. The response has `changes` instead of `lines`, unless it has `reset`. */
	readonly since?: number;
	/** An earlier screen: at an offset, or a time. */
	readonly at?: number | Date;
	/**
	 * How long to wait for the conditions below, or for a change since `since`, in milliseconds; the server caps it at a
	 * minute.
	 */
	readonly wait?: number;
	/**
	 * A string or regular expression in one of the rows; of its flags only `i` applies. `met` tells whether it matched.
	 */
	readonly text?: string | RegExp;
	readonly ignoreCase?: boolean;
	/** The text is unchanged for this many milliseconds from now on. */
	readonly stable?: number;
	/** First and last row to consider for both, from zero. */
	readonly region?: readonly [number, number];
	readonly signal?: AbortSignal;
};

export type AtOptions = Pick<ScreenOptions, "at" | "signal">;
export type ScreenTextOptions = AtOptions & { readonly colors?: boolean };

export type ScrollbackOptions = AtOptions & {
	/** Rows above the screen to skip. */
	readonly skip?: number;
	/** Number of rows. Default: 100, maximum 1000. */
	readonly limit?: number;
};

/** The session methods that this module uses. */
type ScreenSource = {
	screen(options: ScreenOptions): Promise<ScreenMessage>;
	info(options: { readonly signal?: AbortSignal }): Promise<Pick<SessionMessage, "exit">>;
};

export type ScreenChangesOptions = {
	readonly signal?: AbortSignal;
	/** How long the server may be unreachable, in milliseconds; zero fails at once. */
	readonly reconnectTimeoutMs?: number;
};

/** A screen with all its rows. */
export type ScreenText = ScreenMessage & { readonly lines: readonly string[] };

/**
 * Yields the screen now, and after every change until the session ends. Ends without an error when the signal is
 * aborted.
 */
export async function* screenChanges(
	session: ScreenSource,
	{ signal, reconnectTimeoutMs = 0 }: ScreenChangesOptions = {},
): AsyncGenerator<ScreenText, void, void> {
	let shown: ScreenText | undefined;
	while (!signal?.aborted && !(shown && isLast(shown))) {
		const wanted = shown ? { since: shown.revision, wait: WAIT_MS } : {};
		const screen = await askRepeatedly((options) => session.screen({ ...wanted, ...options }), {
			signal,
			reconnectTimeoutMs,
		});
		if (!screen) return;
		const next: ScreenText = { ...screen, lines: screen.lines ?? withChanges(shown?.lines ?? [], screen) };
		const isSeen = shown === undefined || looksOf(next) !== looksOf(shown);
		shown = next;
		if (isSeen) yield next;
	}
}

export async function waitForScreen(
	session: ScreenSource,
	condition: ScreenCondition,
	{ timeoutMs = Number.POSITIVE_INFINITY, signal }: WaitOptions,
): Promise<WaitResult> {
	signal?.throwIfAborted();
	const began = performance.now();
	for (;;) {
		const left = Math.max(0, timeoutMs - (performance.now() - began));
		// A `stable` wait must fit into one request.
		const wait = Math.ceil(Math.min(left, "stable" in condition ? condition.stable + WAIT_MS : WAIT_MS));
		const query = { ...queryOf(condition), wait };
		const screen = await askRepeatedly((options) => session.screen({ ...query, ...options }), {
			signal,
			reconnectTimeoutMs: left,
		});
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

function withChanges(lines: readonly string[], { rows, changes = [] }: ScreenMessage): string[] {
	const next = Array.from({ length: rows }, (_, row) => lines[row] ?? "");
	for (const { row, text } of changes) next[row] = text;
	return next.slice(0, next.findLastIndex((line) => line !== "") + 1);
}

/** Whether no change can follow. */
function isLast({ state }: ScreenMessage): boolean {
	return state === "closed" || state === "lost";
}

function looksOf({ cols, rows, alternate, cursor, title, lines }: ScreenText): string {
	return JSON.stringify([cols, rows, alternate, cursor, title, lines]);
}
