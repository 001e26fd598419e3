/**
 * With any interleaving of writers, readers, archive and retention, each reader gets its bytes, or a gap that names
 * them.
 */

import fc from "fast-check";
import { expect, test } from "vitest";
import { type Cursor, follow } from "../../../src/core/log/cursor.ts";
import {
	byteLength,
	type Fact,
	type Item,
	LOG_START,
	type LogPosition,
	type Start,
} from "../../../src/core/log/event.ts";
import { Log } from "../../../src/core/log/log.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { MemoryArchive } from "../../support/memory-archive.ts";

const MEMORY_BYTES = 64;
const ARCHIVE_BYTES = 256;

type Flow = "lossless" | "live" | undefined;
type Step =
	| { do: "append"; bytes: number }
	| { do: "resize" }
	| { do: "take"; bytes: number }
	| { do: "health"; isHealthy: boolean }
	| { do: "open"; start: Start; flow: Flow }
	| { do: "read"; reader: number; items: number }
	| { do: "ask"; reader: number }
	| { do: "abort"; reader: number }
	| { do: "return"; reader: number }
	| { do: "flow"; reader: number; isLive: boolean }
	| { do: "wait"; ms: number };

const start: fc.Arbitrary<Start> = fc.oneof(
	fc.constant("end" as const),
	fc.nat(40).map((seq) => ({ seq, offset: 0 })),
	fc.nat(700).map((offset) => ({ offset })),
);

const step: fc.Arbitrary<Step> = fc.oneof(
	{ weight: 6, arbitrary: fc.record({ do: fc.constant("append" as const), bytes: fc.integer({ min: 1, max: 40 }) }) },
	{ weight: 1, arbitrary: fc.constant({ do: "resize" as const }) },
	{ weight: 4, arbitrary: fc.record({ do: fc.constant("take" as const), bytes: fc.integer({ min: 1, max: 120 }) }) },
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("health" as const), isHealthy: fc.boolean() }) },
	{
		weight: 2,
		arbitrary: fc.record({
			do: fc.constant("open" as const),
			start,
			flow: fc.constantFrom<Flow>("lossless", "live", undefined),
		}),
	},
	{
		weight: 6,
		arbitrary: fc.record({
			do: fc.constant("read" as const),
			reader: fc.nat(5),
			items: fc.integer({ min: 1, max: 8 }),
		}),
	},
	{ weight: 3, arbitrary: fc.record({ do: fc.constant("ask" as const), reader: fc.nat(5) }) },
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("abort" as const), reader: fc.nat(5) }) },
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("return" as const), reader: fc.nat(5) }) },
	{
		weight: 1,
		arbitrary: fc.record({ do: fc.constant("flow" as const), reader: fc.nat(5), isLive: fc.boolean() }),
	},
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(1, 20_000) }) },
);

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** One reader of the log under test. Checks each item against everything that was ever written. */
class Reader {
	readonly controller = new AbortController();
	readonly flow: Flow;
	/** The next expected byte and event. The event is unknown before the first item if the reader started at a byte. */
	#offset = 0;
	#seq: number | undefined;
	#pending: Promise<void> | undefined;
	readonly #items: Cursor;
	isDone = false;
	/** Was aborted by its signal or its reader. */
	isLeft = false;
	wasLive = false;
	error: unknown;
	gaps = 0;

	constructor(log: Log, begin: Start, flow: Flow) {
		this.flow = flow;
		if (begin === "end") {
			this.#offset = log.end.offset;
			this.#seq = log.end.seq;
		} else {
			this.#offset = Math.min(begin.offset, log.end.offset);
			if ("seq" in begin) this.#seq = Math.max(1, begin.seq);
		}
		const options = { signal: this.controller.signal, ...(flow ? { flow } : {}) };
		this.#items = follow(log, begin, options);
		this.wasLive = flow === "live";
	}

	abort(): void {
		this.isLeft = true;
		this.controller.abort();
	}

	/** Aborts, whether an item is being waited for or not. */
	return(): void {
		this.isLeft = true;
		void this.#items.return().then(() => {
			this.isDone = true;
		});
	}

	set isLive(isLive: boolean) {
		this.#items.isLive = isLive;
		this.wasLive ||= isLive;
	}

	/** Requests one item and lets all pending work happen. The request stays open if there is none. */
	async read(written: Uint8Array): Promise<void> {
		this.ask(written);
		await turn();
	}

	/** Requests one item. The next operation happens in the same turn. */
	ask(written: Uint8Array): void {
		if (this.isDone) return;
		this.#pending ??= this.#items
			.next()
			.then((result) => {
				this.#pending = undefined;
				if (result.done) this.isDone = true;
				else this.#check(result.value, written);
			})
			.catch((error: unknown) => {
				this.isDone = true;
				this.error = error;
			});
	}

	get offset(): number {
		return this.#offset;
	}

	#check(item: Item, written: Uint8Array): void {
		if (item.kind === "gap") {
			this.gaps++;
			expect(item.from).toBe(this.#offset);
			expect(item.to).toBeGreaterThanOrEqual(item.from);
			if (this.#seq !== undefined) expect(item.nextSeq).toBeGreaterThan(this.#seq);
			this.#offset = item.to;
			this.#seq = item.nextSeq;
			return;
		}
		expect(item.offset).toBe(this.#offset);
		if (this.#seq !== undefined) expect(item.seq).toBe(this.#seq);
		if (item.kind === "output") {
			const expected = written.subarray(item.offset, item.offset + byteLength(item));
			expect(Buffer.compare(item.bytes, expected)).toBe(0);
		}
		this.#offset = item.offset + byteLength(item);
		this.#seq = item.seq + 1;
	}
}

/** A position given by an event's number has the offset at which that event was written. */
function placed(start: Start, marks: readonly LogPosition[]): Start {
	if (start === "end" || !("seq" in start)) return start;
	return marks[start.seq - 1] ?? (marks.length === 0 ? LOG_START : "end");
}

async function play(steps: readonly Step[], withArchive: boolean): Promise<void> {
	const clock = new FakeClock();
	const archive = withArchive ? new MemoryArchive(ARCHIVE_BYTES) : undefined;
	let isFull = false;
	const log = new Log({
		clock,
		archive,
		memoryBytes: MEMORY_BYTES,
		onPressure: (full) => {
			isFull = full;
		},
	});
	const written = new Uint8Array(64 * 1024);
	const readers: Reader[] = [];
	const readAll = async (reader: Reader | undefined, items: number) => {
		for (let i = 0; i < items; i++) await reader?.read(written);
	};
	let hadFailure = false;
	const marks: LogPosition[] = [];
	const append = (fact: Fact) => {
		marks.push(log.end);
		log.append(fact);
	};

	for (const step of steps) {
		switch (step.do) {
			case "append": {
				if (isFull) break;
				const { offset } = log.end;
				const bytes = written.subarray(offset, offset + step.bytes);
				for (let i = 0; i < bytes.length; i++) bytes[i] = (offset + i) * 31;
				append({ kind: "output", stream: "pty", bytes });
				break;
			}
			case "resize":
				append({ kind: "resized", size: { cols: 80, rows: 24 } });
				break;
			case "take":
				archive?.take(step.bytes);
				break;
			case "health":
				hadFailure ||= !step.isHealthy;
				archive?.setHealthy(step.isHealthy);
				break;
			case "open":
				if (readers.length < 6) readers.push(new Reader(log, placed(step.start, marks), step.flow));
				break;
			case "read":
				await readAll(readers[step.reader], step.items);
				break;
			case "ask":
				readers[step.reader]?.ask(written);
				break;
			case "abort":
				readers[step.reader]?.abort();
				break;
			case "return":
				readers[step.reader]?.return();
				break;
			case "flow": {
				const reader = readers[step.reader];
				if (reader) reader.isLive = step.isLive;
				break;
			}
			case "wait":
				clock.advance(step.ms);
		}
		// Memory is bounded by its limit and one event, or by the requested pause and the bytes in progress.
		const retained = log.peek(0, Number.POSITIVE_INFINITY).reduce((sum, event) => sum + byteLength(event), 0);
		if (!isFull) expect(retained).toBeLessThan(MEMORY_BYTES + 40 + 40);
	}

	log.append({ kind: "exited", exit: { code: 0, signal: null } });
	log.append({ kind: "closed" });
	for (let i = 0; readers.some((reader) => !reader.isDone) && i < 2_000; i++) {
		for (const reader of readers) await reader.read(written);
		archive?.take(64);
	}
	for (const reader of readers) {
		expect(reader.isDone).toBe(true);
		if (reader.error) expect(reader).toMatchObject({ flow: "lossless", error: { code: "limit_exceeded" } });
		else if (!reader.isLeft) expect(reader.offset).toBe(log.end.offset);
		if (reader.flow === "lossless" && !reader.wasLive && !hadFailure) expect(reader.gaps).toBeLessThanOrEqual(1);
	}
	expect(log.heldFrom()).toBe(Number.POSITIVE_INFINITY);
	expect(isFull && !archive).toBe(false);
}

test("without an archive every reader sees a run without gaps, or a gap that names the missing bytes", async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 100, size: "max" }), (steps) => play(steps, false)),
		{ numRuns: 400 },
	);
});

test("with an archive that lags, drops, fails and heals every reader sees the same", async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 150, size: "max" }), (steps) => play(steps, true)),
		{ numRuns: 600 },
	);
});
