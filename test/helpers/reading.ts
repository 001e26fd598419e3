/** Reading a session in a test: waits for facts, and fails with what was seen when they do not come. */

import type { Change } from "../../src/core/change.ts";
import type { Item, Start } from "../../src/core/event.ts";
import type { Session } from "../../src/core/session.ts";

export const PATIENCE_MS = 15_000;

/** The items from a place up to the first that meets the condition, it included; all of them without one. */
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

/** The output from a place on, as soon as it matches. */
export async function outputUntil(session: Session, pattern: RegExp, start: Start = { offset: 0 }): Promise<string> {
	return textOf(await itemsUntil(session, start, (_, text) => pattern.test(text)));
}

export function textOf(items: readonly Item[]): string {
	return Buffer.concat(items.flatMap((item) => (item.kind === "output" ? [item.bytes] : []))).toString("latin1");
}

/** Items in short: output as text, gaps with their bounds, others by kind. */
export function brief(item: Item): string {
	if (item.kind === "output") return Buffer.from(item.bytes).toString("latin1");
	if (item.kind === "gap") return `gap ${item.from}-${item.to} ${item.reason}`;
	return item.kind;
}

export type Waiting = {
	/** What the error says when it does not come. */
	readonly missed: () => string;
	/** Nothing can come any more; it is looked once more and then given up. */
	readonly isOver?: () => boolean;
	readonly patienceMs?: number | undefined;
};

/** Waits until a look finds something, which is worth one after every change. */
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
		await change.next(late);
	}
}

/** A look is often more work than what it waits for: the longer that takes, the less often it is looked. */
const LOOK_MS = { least: 5, most: 50, share: 0.1 };

/** Waits until something becomes true that no event tells of. */
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
