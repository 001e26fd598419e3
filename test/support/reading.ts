/** Reading a session in a test: waits for conditions, and fails with what was seen when they do not hold in time. */

import type { Change } from "../../src/core/async/change.ts";
import type { Item, Start } from "../../src/core/log/event.ts";
import type { Session } from "../../src/core/session/session.ts";

export const PATIENCE_MS = 15_000;

/** The items from a position up to and including the first match. Without a condition, all of them. */
export async function itemsUntil(
	session: Session,
	start: Start,
	isLast: (item: Item, text: string) => boolean = () => false,
): Promise<Item[]> {
	const seen: Item[] = [];
	const controller = new AbortController();
	const timer = setTimeout(() => controller.abort(), PATIENCE_MS);
	try {
		for await (const item of session.follow(start, { signal: controller.signal })) {
			seen.push(item);
			if (isLast(item, textOf(seen))) return seen;
		}
	} finally {
		clearTimeout(timer);
	}
	if (controller.signal.aborted) throw new Error(`waited ${PATIENCE_MS} ms; seen: ${JSON.stringify(seen.map(brief))}`);
	return seen;
}

/** The output from a position on, as soon as it matches. */
export async function outputUntil(session: Session, pattern: RegExp, start: Start = { offset: 0 }): Promise<string> {
	return textOf(await itemsUntil(session, start, (_, text) => pattern.test(text)));
}

export function textOf(items: readonly Item[]): string {
	return Buffer.concat(items.flatMap((item) => (item.kind === "output" ? [item.bytes] : []))).toString("latin1");
}

/** Items in short form: output as text, gaps with their bounds, others by kind. */
export function brief(item: Item): string {
	if (item.kind === "output") return Buffer.from(item.bytes).toString("latin1");
	if (item.kind === "gap") return `gap ${item.from}-${item.to} ${item.reason}`;
	return item.kind;
}

export type Waiting = {
	/** The error's text when it does not come. */
	readonly missed: () => string;
	/** Nothing more can come: the condition is checked once more and then fails. */
	readonly isOver?: () => boolean;
	readonly patienceMs?: number | undefined;
};

/** Waits until a check returns a value, for checks that are worth repeating after every change. */
export async function untilFact<Value>(
	change: Change,
	look: () => Value | undefined | false,
	{ missed, isOver = () => false, patienceMs = PATIENCE_MS }: Waiting,
): Promise<Value> {
	const late = AbortSignal.timeout(patienceMs);
	for (;;) {
		const value = look();
		if (value !== undefined && value !== false) return value;
		if (late.aborted || isOver()) throw new Error(missed());
		await change.wait(late);
	}
}

/** A check often costs more than what it waits for: the longer that takes, the less often it is checked. */
const LOOK_MS = { least: 5, most: 50, share: 0.1 };

/** Waits until a condition holds that no event reports. */
export async function eventually<Value>(
	what: string,
	look: () => Value | undefined | false | Promise<Value | undefined | false>,
	patienceMs: number = PATIENCE_MS,
): Promise<Value> {
	const since = performance.now();
	for (;;) {
		const value = await look();
		if (value !== undefined && value !== false) return value;
		const waitedMs = performance.now() - since;
		if (waitedMs > patienceMs) throw new Error(`waited ${patienceMs} ms for ${what}`);
		const pauseMs = Math.min(LOOK_MS.most, Math.max(LOOK_MS.least, waitedMs * LOOK_MS.share));
		await new Promise((resolve) => setTimeout(resolve, pauseMs));
	}
}

export function write(session: Session, text: string): Promise<unknown> {
	return session.act({ kind: "write", bytes: Buffer.from(text) });
}
