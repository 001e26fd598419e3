/** Waits for a condition of a screen: that it changed, contains a text, or is stable. */

import { sleep } from "../../async/sleep.ts";
import { withDeadline } from "../../core/async/deadline.ts";
import type { LogPosition } from "../../core/log/event.ts";
import { isEnded } from "../../core/log/session-state.ts";
import type { ScreenReader } from "../../core/session/screen-reader.ts";
import type { Session } from "../../core/session/session.ts";
import type { Screen } from "../../core/terminal/screen-view.ts";

/** Interval between reads of a screen that changes all the time, in milliseconds. */
const LOOK_MS = 40;

/** Whether the condition holds, or the milliseconds after which it will if nothing changes. */
type Verdict = boolean | number;

export type ScreenCondition = {
	check(screen: Screen, signal: AbortSignal): Verdict | Promise<Verdict>;
	/** The result when the screen can't change any more. */
	readonly atEnd?: boolean;
	end?(): void;
};

type ShownOptions = {
	readonly screens: ScreenReader;
	readonly session: Session;
	readonly waitMs: number;
	readonly signal: AbortSignal;
};

/** Reads the screen at least once, then until the condition holds, the screen can't change any more, or the time is over. */
export async function waitForScreen(
	condition: ScreenCondition,
	{ screens, session, waitMs, signal }: ShownOptions,
): Promise<{ readonly screen: Screen; readonly isMet: boolean }> {
	const deadline = performance.now() + waitMs;
	try {
		for (;;) {
			// Checked before reading: a screen that is read after the end is final.
			const isOver = isEnded(session.state);
			const screen = await screens.read(session, { signal });
			const verdict = await condition.check(screen, signal);
			const left = deadline - performance.now();
			if (verdict === true) return { screen, isMet: true };
			if (isOver) return { screen, isMet: condition.atEnd ?? false };
			if (left <= 0 || signal.aborted) return { screen, isMet: false };
			const lookAgainMs = verdict === false ? left : Math.min(left, verdict);
			await Promise.all([
				untilNewEvent(session, screen, signal, lookAgainMs),
				// On abort, the screen is read once more, which ends the wait.
				sleep(Math.min(LOOK_MS, left), signal),
			]);
		}
	} finally {
		condition.end?.();
	}
}

/** The screen differs from an earlier one; without one, any change counts. */
export function screenChanged(earlier: Screen | undefined): ScreenCondition {
	return { check: (screen) => earlier === undefined || looksOf(screen) !== looksOf(earlier) };
}

/** Selects the rows to check. */
export type SelectRows = (screen: Screen) => readonly string[];

/** A row contains a text. */
export function screenHasText(
	{ text, ignoreCase }: { readonly text: string; readonly ignoreCase: boolean },
	linesOf: SelectRows,
): ScreenCondition {
	const comparable = (line: string) => (ignoreCase ? line.toLowerCase() : line);
	const wanted = comparable(text);
	return { check: (screen) => linesOf(screen).some((line) => comparable(line).includes(wanted)) };
}

/** Characters that spinners use: Braille dots, lines, parts of circles, stars. */
const SPINNER = /[\u2800-\u28ff|/\\\-\u25d0-\u25d3\u25dc-\u25e1\u25f4-\u25f7·∗✢✳✶✻✽]/g;

/** The text has not changed for this long. Spinner characters are equal. */
export function screenStable(ms: number, linesOf: SelectRows): ScreenCondition {
	let text: string | undefined;
	let since = 0;
	return {
		check(screen) {
			const now = performance.now();
			const shown = linesOf(screen).join("\n").replace(SPINNER, "-");
			if (shown !== text) since = now;
			text = shown;
			return now - since >= ms || since + ms - now;
		},
		atEnd: true,
	};
}

function looksOf({ cols, rows, alternate, cursor, title, lines }: Screen): string {
	return JSON.stringify([cols, rows, alternate, cursor, title, lines]);
}

/** Resolves when there is a new event after a screen's position, when there will be none, or after a timeout. */
export async function untilNewEvent(
	session: Session,
	position: LogPosition,
	signal: AbortSignal,
	ms: number,
): Promise<void> {
	await withDeadline(ms, [signal], async (over) => {
		for await (const _ of session.follow(position, { signal: over, isOwn: true })) return;
	});
}
