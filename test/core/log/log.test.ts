import { describe, expect, test } from "vitest";
import type { FollowOptions } from "../../../src/core/log/cursor.ts";
import { follow, LIVE_WINDOW_BYTES } from "../../../src/core/log/cursor.ts";
import { type Event, type Item, LOG_START, type Start } from "../../../src/core/log/event.ts";
import { Log, type LogOptions } from "../../../src/core/log/log.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { reachable } from "../../support/garbage.ts";
import { MemoryArchive } from "../../support/memory-archive.ts";

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

/** Everything that a reader gets, in short form: output as text, gaps as `from-to reason`, others by kind. */
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
	test("a reader starts at any byte, also inside an event", async () => {
		const log = logWith();
		write(log, "hello ");
		write(log, "world");
		finish(log);
		expect(await all(log, { offset: 0 })).toEqual(["hello ", "world", "exited", "closed"]);
		expect(await all(log, { offset: 8 })).toEqual(["rld", "exited", "closed"]);
		expect(await all(log, { offset: 11 })).toEqual(["exited", "closed"]);
		expect(await all(log, { offset: 99 })).toEqual(["exited", "closed"]);
		expect(await all(log, { seq: 2, offset: 6 })).toEqual(["world", "exited", "closed"]);
	});

	test("a reader that starts at the end starts at the end of the time it was created, not of its first read", async () => {
		const log = logWith();
		write(log, "before");
		const items = follow(log, "end");
		write(log, "after");
		finish(log);
		expect(brief((await items.next()).value as Item)).toBe("after");
		await items.return();
	});

	test("a reader gets an event appended while it handles another", async () => {
		const log = logWith();
		write(log, "a");
		const seen: string[] = [];
		for await (const item of follow(log, LOG_START)) {
			seen.push(brief(item));
			if (item.kind === "output" && log.end.seq < 4) write(log, "b");
			else if (!log.isFinished) finish(log);
		}
		expect(seen).toEqual(["a", "b", "b", "exited", "closed"]);
	});

	test("a reader behind the retained window gets the gap", async () => {
		const log = logWith({ memoryBytes: 4 });
		for (const text of ["aaa", "bbb", "ccc"]) write(log, text);
		finish(log);
		expect(await all(log, { offset: 1 })).toEqual(["gap 1-3 retention", "bbb", "ccc", "exited", "closed"]);
	});

	test("a reader continues from the archive to memory without a seam", async () => {
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

	test("a reader gets an event without bytes at its exact offset that is no longer in memory", async () => {
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

	test("a reader gets a gap for bytes that a failed archive never received", async () => {
		const archive = new MemoryArchive(1_000);
		const log = logWith({ memoryBytes: 4, archive });
		write(log, "aaa");
		archive.take(100);
		archive.setHealthy(false);
		for (const text of ["bbb", "ccc", "ddd"]) write(log, text);
		finish(log);
		expect(await all(log, { offset: 0 })).toEqual(["aaa", "gap 3-6 journal", "ccc", "ddd", "exited", "closed"]);
	});

	test("a reader gets an event appended in the same turn as its request", async () => {
		const log = logWith();
		const items = follow(log, "end");
		const next = items.next();
		write(log, "a");
		expect(brief((await next).value as Item)).toBe("a");
		await items.return();
	});

	test("a reader aborted while it waits ends at once, and again without an error", async () => {
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

	test("a reader aborted during a read of the archive releases it when the read ends", async () => {
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

	test("a reader that was never iterated is released when its signal aborts", () => {
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

	test("a reader must not request a second item while it waits for one", async () => {
		const items = follow(logWith(), "end");
		const next = items.next();
		await expect(items.next()).rejects.toThrow("invariant");
		await items.return();
		await next;
	});

	test("a reader aborted while it waits ends without an error and without a leak", async () => {
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

	test("a live reader that falls behind skips over a gap to the newest output", async () => {
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

	test("a live reader that becomes lossless holds the log from its position, and releases it when it is live again", async () => {
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

	test("a live reader gets the whole past that it requested", async () => {
		const log = logWith({ memoryBytes: 4 * LIVE_WINDOW_BYTES });
		for (let i = 0; i < 20; i++) write(log, chunk);
		finish(log);
		const seen = await all(log, { offset: 0 }, { flow: "live" });
		expect(seen).toHaveLength(22);
		expect(seen.some((item) => item.startsWith("gap"))).toBe(false);
	});
});

describe("a lossless reader", () => {
	test("a lossless reader that keeps reading is never ended and never misses a byte, however often the log is at its limit", async () => {
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

	test("a lossless reader pauses the program at the limit, and is ended with an error after ten seconds without progress", async () => {
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

	test("stalled lossless readers are ended together, so that any number of them costs one timeout", async () => {
		const pressure: boolean[] = [];
		const log = logWith({ memoryBytes: 10, onPressure: (full) => pressure.push(full) });
		for (let i = 0; i < 10; i++) write(log, "a");
		// They are at different events, so only one of them is at the start of the log.
		const stalled = Array.from({ length: 10 }, (_, i) => follow(log, { seq: i + 1, offset: i }, { flow: "lossless" }));
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

	test("a lossless reader with nothing to read has its ten seconds from the next output", async () => {
		const log = logWith({ memoryBytes: 4 });
		write(log, "aaaa");
		const stalled = follow(log, LOG_START, { flow: "lossless" });
		const waiting = follow(log, "end", { flow: "lossless" });
		write(log, "bbbb");
		expect(brief((await waiting.next()).value as Item)).toBe("bbbb");
		const next = waiting.next();
		await settle();
		clock.advance(9_000);
		// Output of the program before it was paused.
		write(log, "cccc");
		clock.advance(1_000);
		await expect(stalled.next()).rejects.toMatchObject({ code: "limit_exceeded" });
		expect(brief((await next).value as Item)).toBe("cccc");
		clock.advance(8_999);
		finish(log);
		expect(brief((await waiting.next()).value as Item)).toBe("exited");
		await waiting.return();
	});

	test("a lossless reader that made progress while others stalled has its own ten seconds, and no more", async () => {
		const pressure: boolean[] = [];
		const log = logWith({ memoryBytes: 4, onPressure: (full) => pressure.push(full) });
		const stalled = follow(log, LOG_START, { flow: "lossless" });
		const slow = follow(log, LOG_START, { flow: "lossless" });
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

	test.each([-3_600_000, 3_600_000])(
		"a lossless reader is ended after the same time when the clock is set by %i ms",
		async (ms) => {
			const pressure: boolean[] = [];
			const log = logWith({ memoryBytes: 4, onPressure: (full) => pressure.push(full) });
			const items = follow(log, { offset: 0 }, { flow: "lossless" });
			write(log, "aaaa");
			write(log, "bbbb");
			clock.advance(5_000);
			expect((await items.next()).value).toMatchObject({ seq: 1 });
			// Requests more and so has made progress, from which the next ten seconds count.
			clock.jump(ms);
			clock.advance(4_999);
			expect(pressure).toEqual([true]);
			clock.advance(1);
			expect(pressure).toEqual([true, false]);
			await expect(items.next().then(() => items.next())).rejects.toMatchObject({ code: "limit_exceeded" });
		},
	);

	test("a lossless reader with an archive pauses the program only at the archive's limit", async () => {
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

test("an archive that lags pauses the program instead of losing output", () => {
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

test("nothing follows the last event", () => {
	const log = logWith();
	finish(log);
	expect(() => write(log, "late")).toThrow("invariant");
});

test("memory holds no more than the limit, and dropped events are released at once", async () => {
	const log = logWith({ memoryBytes: 4 });
	// In a separate function, so that no local variable holds the output.
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
