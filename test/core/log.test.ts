import { describe, expect, test } from "vitest";
import { follow, LIVE_WINDOW_BYTES } from "../../src/core/cursor.ts";
import type { Event, Item, Start } from "../../src/core/event.ts";
import { Log, type LogOptions } from "../../src/core/log.ts";
import type { FollowOptions } from "../../src/core/session.ts";
import { FakeClock } from "../helpers/fake-clock.ts";
import { reachable } from "../helpers/garbage.ts";
import { MemoryArchive } from "../helpers/memory-archive.ts";

const clock = new FakeClock();

function logWith(options: Partial<LogOptions> = {}): Log {
	return new Log({ clock, ...options });
}

function write(log: Log, text: string): Event {
	return log.append({ kind: "output", stream: "pty", bytes: Buffer.from(text) });
}

function finish(log: Log): void {
	log.append({ kind: "exited", exit: { code: 0, signal: null } });
	log.append({ kind: "closed" });
}

/** Everything a reader gets, in short: output as text, gaps as `from-to reason`, others by kind. */
async function all(log: Log, start: Start, options?: FollowOptions): Promise<string[]> {
	const seen: string[] = [];
	for await (const item of follow(log, start, options)) seen.push(brief(item));
	return seen;
}

function brief(item: Item): string {
	if (item.kind === "output") return Buffer.from(item.bytes).toString();
	if (item.kind === "gap") return `gap ${item.from}-${item.to} ${item.reason}`;
	return item.kind;
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("a reader", () => {
	test("starts at any byte, inside an event too", async () => {
		const log = logWith();
		write(log, "hello ");
		write(log, "world");
		finish(log);
		expect(await all(log, { offset: 0 })).toEqual(["hello ", "world", "exited", "closed"]);
		expect(await all(log, { offset: 8 })).toEqual(["rld", "exited", "closed"]);
		expect(await all(log, { offset: 11 })).toEqual(["exited", "closed"]);
		expect(await all(log, { offset: 99 })).toEqual(["exited", "closed"]);
		expect(await all(log, { seq: 2 })).toEqual(["world", "exited", "closed"]);
	});

	test("that starts at the end starts at the end of the time when it asked, not when it first reads", async () => {
		const log = logWith();
		write(log, "before");
		const items = follow(log, "end");
		write(log, "after");
		finish(log);
		expect(brief((await items.next()).value as Item)).toBe("after");
		await items.return();
	});

	test("gets an event that is appended while it handles another", async () => {
		const log = logWith();
		write(log, "a");
		const seen: string[] = [];
		for await (const item of follow(log, { seq: 1 })) {
			seen.push(brief(item));
			if (item.kind === "output" && log.end.seq < 4) write(log, "b");
			else if (!log.isFinished) finish(log);
		}
		expect(seen).toEqual(["a", "b", "b", "exited", "closed"]);
	});

	test("past the retained window sees the gap", async () => {
		const log = logWith({ memoryBytes: 4 });
		for (const text of ["aaa", "bbb", "ccc"]) write(log, text);
		finish(log);
		expect(await all(log, { offset: 1 })).toEqual(["gap 1-3 retention", "bbb", "ccc", "exited", "closed"]);
	});

	test("reads on from the archive what memory has dropped, and then from memory, without a seam", async () => {
		const archive = new MemoryArchive(1_000);
		const log = logWith({ memoryBytes: 4, archive });
		for (const text of ["aaa", "bbb", "ccc", "ddd"]) {
			write(log, text);
			archive.take(100);
		}
		expect(log.memoryOldest.offset).toBe(6);
		finish(log);
		expect(await all(log, { offset: 2 })).toEqual(["a", "bbb", "ccc", "ddd", "exited", "closed"]);
	});

	test("gets an event without bytes that stands at its very offset but is no longer in memory", async () => {
		const archive = new MemoryArchive(1_000);
		const log = logWith({ memoryBytes: 3, archive });
		write(log, "aaa");
		log.append({ kind: "resized", size: { cols: 1, rows: 1 } });
		write(log, "bbb");
		archive.take(100);
		write(log, "c");
		expect(log.memoryOldest).toMatchObject({ offset: 3, kind: "output" });
		finish(log);
		expect(await all(log, { offset: 3 })).toEqual(["resized", "bbb", "c", "exited", "closed"]);
	});

	test("is told of what a failed archive never got", async () => {
		const archive = new MemoryArchive(1_000);
		const log = logWith({ memoryBytes: 4, archive });
		write(log, "aaa");
		archive.take(100);
		archive.setHealthy(false);
		for (const text of ["bbb", "ccc", "ddd"]) write(log, text);
		finish(log);
		expect(await all(log, { offset: 0 })).toEqual(["aaa", "gap 3-6 journal", "ccc", "ddd", "exited", "closed"]);
	});

	test("learns of an event that is appended in the very turn in which it asks", async () => {
		const log = logWith();
		const items = follow(log, "end");
		const next = items.next();
		write(log, "a");
		expect(brief((await next).value as Item)).toBe("a");
		await items.return();
	});

	test("that is broken off while it waits ends at once, and again without an error", async () => {
		const log = logWith();
		let closed = 0;
		const items = follow(log, "end", { flow: "lossless", onClose: () => closed++ });
		const next = items.next();
		await settle();
		expect(await items.return()).toEqual({ done: true, value: undefined });
		expect(await next).toEqual({ done: true, value: undefined });
		expect(await items.next()).toEqual({ done: true, value: undefined });
		expect(log.heldFrom()).toBe(Number.POSITIVE_INFINITY);
		expect(closed).toBe(1);
	});

	test("that is broken off while it reads the archive lets go of that when the read is over", async () => {
		const archive = new MemoryArchive(1_000);
		const log = logWith({ memoryBytes: 4, archive });
		for (const text of ["aaa", "bbb", "ccc"]) write(log, text);
		archive.take(100);
		const steps: string[] = [];
		let answer: (events: readonly Event[]) => void = () => {};
		archive.reader = () => ({
			read: () => {
				steps.push("read");
				return new Promise((resolve) => {
					answer = resolve;
				});
			},
			close: async () => void steps.push("close"),
		});
		const items = follow(log, { offset: 0 }, { flow: "lossless" });
		const next = items.next();
		const returned = items.return();
		expect(log.heldFrom()).toBe(Number.POSITIVE_INFINITY);
		await settle();
		expect(steps).toEqual(["read"]);
		answer(log.peek(0, 100));
		expect(await next).toEqual({ done: true, value: undefined });
		await returned;
		expect(steps).toEqual(["read", "close"]);
	});

	test("that nobody ever asked for an item lets go when its signal aborts", () => {
		const log = logWith();
		const controller = new AbortController();
		let closed = 0;
		follow(log, "end", { signal: controller.signal, flow: "lossless", onClose: () => closed++ });
		expect(log.heldFrom()).toBe(1);
		controller.abort();
		expect(log.heldFrom()).toBe(Number.POSITIVE_INFINITY);
		follow(log, "end", { signal: controller.signal, flow: "lossless", onClose: () => closed++ });
		expect(log.heldFrom()).toBe(Number.POSITIVE_INFINITY);
		expect(closed).toBe(2);
	});

	test("must not ask for a second item while it waits for one", async () => {
		const items = follow(logWith(), "end");
		const next = items.next();
		await expect(items.next()).rejects.toThrow("invariant");
		await items.return();
		await next;
	});

	test("that is aborted while it waits ends without an error and without a trace", async () => {
		const log = logWith();
		const controller = new AbortController();
		const done = all(log, "end", { signal: controller.signal, flow: "lossless" });
		await settle();
		controller.abort();
		expect(await done).toEqual([]);
		expect(log.heldFrom()).toBe(Number.POSITIVE_INFINITY);
	});
});

describe("a live reader", () => {
	const chunk = "x".repeat(64 * 1024);

	test("that falls behind is moved forward over a gap to the newest output", async () => {
		const log = logWith({ memoryBytes: 4 * LIVE_WINDOW_BYTES });
		write(log, "first");
		const items = follow(log, { offset: 0 }, { flow: "live" });
		expect(brief((await items.next()).value as Item)).toBe("first");
		for (let i = 0; i < 20; i++) write(log, chunk);
		write(log, "last");
		expect(await items.next()).toMatchObject({ value: { kind: "gap", reason: "live", from: 5 } });
		const rest: Item[] = [];
		finish(log);
		for await (const item of items) rest.push(item);
		expect(rest.map(brief).slice(-3)).toEqual(["last", "exited", "closed"]);
		expect(rest.length).toBeLessThan(6);
	});

	test("that becomes lossless holds the log from where it stands, and lets go when it is live again", async () => {
		let isFull = false;
		const log = logWith({ memoryBytes: 4, onPressure: (full) => (isFull = full) });
		const items = follow(log, { offset: 0 }, { flow: "lossless" });
		items.isLive = true;
		for (const text of ["aaaa", "bbbb"]) write(log, text);
		expect(isFull).toBe(false);
		expect(brief((await items.next()).value as Item)).toBe("gap 0-4 retention");
		items.isLive = false;
		write(log, "cccc");
		expect(isFull).toBe(true);
		expect(brief((await items.next()).value as Item)).toBe("bbbb");
		items.isLive = true;
		expect(isFull).toBe(false);
		await items.return();
	});

	test("still gets the whole past that it asked for", async () => {
		const log = logWith({ memoryBytes: 4 * LIVE_WINDOW_BYTES });
		for (let i = 0; i < 20; i++) write(log, chunk);
		finish(log);
		const seen = await all(log, { offset: 0 }, { flow: "live" });
		expect(seen).toHaveLength(22);
		expect(seen.some((item) => item.startsWith("gap"))).toBe(false);
	});
});

describe("a lossless reader", () => {
	test("that reads on is never ended and never misses a byte, however often the log is at its bound", async () => {
		let isFull = false;
		const log = logWith({ memoryBytes: 4, onPressure: (full) => (isFull = full) });
		const items = follow(log, { offset: 0 }, { flow: "lossless" });
		let written = "";
		let read = "";
		for (let i = 0; i < 200; i++) {
			while (!isFull) {
				const text = String(written.length % 10);
				written += text;
				write(log, text);
			}
			const next = await items.next();
			read += brief(next.value as Item);
			clock.advance(9_000);
		}
		expect(read).toBe(written.slice(0, read.length));
		await items.return();
		expect(isFull).toBe(false);
	});

	test("pauses the program at the bound, and is ended with an error after ten seconds without progress", async () => {
		const pressure: boolean[] = [];
		const log = logWith({ memoryBytes: 4, onPressure: (full) => pressure.push(full) });
		const items = follow(log, { offset: 0 }, { flow: "lossless" });
		write(log, "aaaa");
		expect(pressure).toEqual([]);
		write(log, "bbbb");
		expect(pressure).toEqual([true]);
		clock.advance(9_999);
		expect(pressure).toEqual([true]);
		clock.advance(1);
		expect(pressure).toEqual([true, false]);
		await expect(items.next()).rejects.toMatchObject({ code: "limit_exceeded" });
	});

	test("is ended together with all others that stood still, so that any number of them costs one limit", async () => {
		const pressure: boolean[] = [];
		const log = logWith({ memoryBytes: 10, onPressure: (full) => pressure.push(full) });
		for (let i = 0; i < 10; i++) write(log, "a");
		// They stand at different events, so that only one of them is where the log begins.
		const stalled = Array.from({ length: 10 }, (_, i) => follow(log, { seq: i + 1 }, { flow: "lossless" }));
		const waiting = follow(log, "end", { flow: "lossless" });
		write(log, "bbbb");
		expect(brief((await waiting.next()).value as Item)).toBe("bbbb");
		const last = waiting.next();
		await settle();
		expect(pressure).toEqual([true]);
		clock.advance(10_000);
		expect(pressure).toEqual([true, false]);
		for (const items of stalled) await expect(items.next()).rejects.toMatchObject({ code: "limit_exceeded" });
		// It had read everything, and waited for the program as the others made it wait.
		finish(log);
		expect(brief((await last).value as Item)).toBe("exited");
		await waiting.return();
	});

	test("that had nothing to read has its ten seconds from when something comes", async () => {
		const log = logWith({ memoryBytes: 4 });
		write(log, "aaaa");
		const stalled = follow(log, { seq: 1 }, { flow: "lossless" });
		const waiting = follow(log, "end", { flow: "lossless" });
		write(log, "bbbb");
		expect(brief((await waiting.next()).value as Item)).toBe("bbbb");
		const next = waiting.next();
		await settle();
		clock.advance(9_000);
		// What the program had written before it was made to wait.
		write(log, "cccc");
		clock.advance(1_000);
		await expect(stalled.next()).rejects.toMatchObject({ code: "limit_exceeded" });
		expect(brief((await next).value as Item)).toBe("cccc");
		clock.advance(8_999);
		finish(log);
		expect(brief((await waiting.next()).value as Item)).toBe("exited");
		await waiting.return();
	});

	test("that moved on while others stood still has its own ten seconds, and not one more", async () => {
		const pressure: boolean[] = [];
		const log = logWith({ memoryBytes: 4, onPressure: (full) => pressure.push(full) });
		const stalled = follow(log, { seq: 1 }, { flow: "lossless" });
		const slow = follow(log, { seq: 1 }, { flow: "lossless" });
		for (let i = 0; i < 3; i++) write(log, "aaaa");
		await slow.next();
		clock.advance(4_000);
		await slow.next();
		clock.advance(6_000);
		await expect(stalled.next()).rejects.toMatchObject({ code: "limit_exceeded" });
		expect(pressure).toEqual([true]);
		clock.advance(3_999);
		expect(pressure).toEqual([true]);
		clock.advance(1);
		expect(pressure).toEqual([true, false]);
		await slow.return();
	});

	test.each([-3_600_000, 3_600_000])("is ended after the same time when the clock is set by %i ms", async (ms) => {
		const pressure: boolean[] = [];
		const log = logWith({ memoryBytes: 4, onPressure: (full) => pressure.push(full) });
		const items = follow(log, { offset: 0 }, { flow: "lossless" });
		write(log, "aaaa");
		write(log, "bbbb");
		clock.advance(5_000);
		expect((await items.next()).value).toMatchObject({ seq: 1 });
		// Comes back for more and so has moved, which the next ten seconds count from.
		clock.jump(ms);
		clock.advance(4_999);
		expect(pressure).toEqual([true]);
		clock.advance(1);
		expect(pressure).toEqual([true, false]);
		await expect(items.next().then(() => items.next())).rejects.toMatchObject({ code: "limit_exceeded" });
	});

	test("with an archive pauses the program only at the archive's bound", async () => {
		const pressure: boolean[] = [];
		const archive = new MemoryArchive(6);
		const log = logWith({ memoryBytes: 4, archive, onPressure: (full) => pressure.push(full) });
		const items = follow(log, { offset: 0 }, { flow: "lossless" });
		for (const text of ["aaa", "bbb"]) {
			write(log, text);
			archive.take(100);
		}
		expect(pressure).toEqual([]);
		write(log, "ccc");
		archive.take(100);
		expect(pressure).toEqual([true]);
		expect(brief((await items.next()).value as Item)).toBe("aaa");
		expect(brief((await items.next()).value as Item)).toBe("bbb");
		expect(pressure).toEqual([true, false]);
		await items.return();
	});
});

test("an archive that lags pauses the program instead of losing what it has not taken", () => {
	const pressure: boolean[] = [];
	const archive = new MemoryArchive(1_000);
	const log = logWith({ memoryBytes: 4, archive, onPressure: (full) => pressure.push(full) });
	for (const text of ["aaa", "bbb", "ccc"]) write(log, text);
	expect(pressure).toEqual([true]);
	clock.advance(60_000);
	expect(log.memoryOldest.offset).toBe(0);
	archive.take(100);
	expect(pressure).toEqual([true, false]);
});

test("nothing can follow the last event", () => {
	const log = logWith();
	finish(log);
	expect(() => write(log, "late")).toThrow("invariant");
});

test("memory holds no more than the bound, and what was dropped is gone at once", async () => {
	const log = logWith({ memoryBytes: 4 });
	// In a function of its own, which leaves no output in a variable here.
	const append = () => {
		const bytes = new Uint8Array(4);
		log.append({ kind: "output", stream: "pty", bytes });
		return new WeakRef(bytes);
	};
	const outputs = Array.from({ length: 60 }, append);
	expect(await reachable(outputs)).toBe(1);
	expect(log.end.offset).toBe(240);
});

test("a program that writes single bytes is bounded by the number of events", () => {
	const log = logWith({ memoryEvents: 10 });
	for (let i = 0; i < 100; i++) write(log, "x");
	expect(log.end.seq - log.memoryOldest.seq).toBe(10);
});
