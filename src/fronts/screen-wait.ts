/** Waits for something to be true of what a terminal shows: that it changed, that it has a text, or that it stays. */

import { setTimeout as pause } from "node:timers/promises";
import type { Screen, Screens } from "../core/screen.ts";
import type { Session } from "../core/session.ts";
import { isEnded } from "../core/state.ts";
import { within } from "../core/within.ts";

/** How often it is looked at, in milliseconds, while it changes all the time: more than people see is of no use. */
const LOOK_MS = 40;

/** Whether it holds; or after how long it would, in milliseconds, if nothing changes. */
type Verdict = boolean | number;

export type Condition = {
	check(screen: Screen, signal: AbortSignal): Verdict | Promise<Verdict>;
	/** How it stands when nothing can change any more. */
	readonly atEnd?: boolean;
	end?(): void;
};

type ShownOptions = {
	readonly screens: Screens;
	readonly session: Session;
	readonly waitMs: number;
	readonly signal: AbortSignal;
};

/** Reads it once in any case, and after that until the condition holds, nothing can change any more, or the time is over. */
export async function untilShown(
	condition: Condition,
	{ screens, session, waitMs, signal }: ShownOptions,
): Promise<{ readonly screen: Screen; readonly isMet: boolean }> {
	const deadline = performance.now() + waitMs;
	try {
		for (;;) {
			// Asked before the reading: a screen that is read after the end is the last.
			const isOver = isEnded(session.state);
			const screen = await screens.read(session, { signal });
			const verdict = await condition.check(screen, signal);
			const left = deadline - performance.now();
			if (verdict === true) return { screen, isMet: true };
			if (isOver) return { screen, isMet: condition.atEnd ?? false };
			if (left <= 0 || signal.aborted) return { screen, isMet: false };
			const lookAgainMs = verdict === false ? left : Math.min(left, verdict);
			await Promise.all([
				untilMore(session, screen.seq, signal, lookAgainMs),
				// Aborted, it is looked at once more, which ends it.
				pause(Math.min(LOOK_MS, left), undefined, { signal }).catch(() => {}),
			]);
		}
	} finally {
		condition.end?.();
	}
}

/** It does not look as it did; any change counts if that is not known. */
export function changed(earlier: Screen | undefined): Condition {
	return { check: (screen) => earlier === undefined || looksOf(screen) !== looksOf(earlier) };
}

/** The rows that count. */
export type LinesOf = (screen: Screen) => readonly string[];

/** It has a text in one of its rows, to the letter. */
export function hasText(
	{ text, ignoreCase }: { readonly text: string; readonly ignoreCase: boolean },
	linesOf: LinesOf,
): Condition {
	const told = (line: string) => (ignoreCase ? line.toLowerCase() : line);
	const wanted = told(text);
	return { check: (screen) => linesOf(screen).some((line) => told(line).includes(wanted)) };
}

/** What programs turn to show that they work: dots of Braille, lines, quarters and halves of circles, stars. */
const SPINNER = /[\u2800-\u28ff|/\\\-\u25d0-\u25d3\u25dc-\u25e1\u25f4-\u25f7·∗✢✳✶✻✽]/g;

/** Its text has been the same for so long, as far as it was looked at; whatever a spinner shows is the same. */
export function stable(ms: number, linesOf: LinesOf): Condition {
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

/** Resolves when there is more than a screen shows, when there never will be, or after so long. */
export async function untilMore(session: Session, seq: number, signal: AbortSignal, ms: number): Promise<void> {
	await within(ms, [signal], async (over) => {
		for await (const _ of session.follow({ seq }, { signal: over, isOwn: true })) return;
	});
}
