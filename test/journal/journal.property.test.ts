import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { ArchiveReader } from "../../src/core/log/archive.ts";
import { byteLength, type Event, type Fact } from "../../src/core/log/event.ts";
import { Journal } from "../../src/journal/journal.ts";
import { openForReading } from "../../src/journal/journal-reader.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { fileTurns, MEMORY, Memory, readAll } from "./support.ts";

const fact: fc.Arbitrary<Fact> = fc.oneof(
	{
		weight: 6,
		arbitrary: fc.record({
			kind: fc.constant("output" as const),
			stream: fc.constantFrom("stdout", "stderr", "pty"),
			bytes: fc.oneof(
				fc.uint8Array({ maxLength: 80 }),
				fc.nat(6000).map((size) => new Uint8Array(size).fill(size)),
			),
		}),
	},
	fc.record({ kind: fc.constant("resized" as const), size: fc.record({ cols: fc.nat(65_535), rows: fc.nat(65_535) }) }),
	fc.record({
		kind: fc.constant("exited" as const),
		exit: fc.record({ code: fc.nat(255), signal: fc.constant(null) }),
	}),
	fc.record({ kind: fc.constant("lost" as const), message: fc.string({ unit: "grapheme" }) }),
);

/** Operations on a journal, in any order. */
type Step =
	| { readonly do: "append"; readonly facts: Fact[] }
	| { readonly do: "wait" }
	| { readonly do: "hold"; readonly back: number | undefined }
	| { readonly do: "lose"; readonly facts: Fact[] }
	| { readonly do: "reopen" }
	| { readonly do: "die" }
	| { readonly do: "read"; readonly at: number; readonly by: "seq" | "offset"; readonly maxBytes: number };

const step: fc.Arbitrary<Step> = fc.oneof(
	{
		weight: 5,
		arbitrary: fc.record({
			do: fc.constant("append" as const),
			facts: fc.array(fact, { minLength: 1, maxLength: 12 }),
		}),
	},
	fc.record({ do: fc.constant("wait" as const) }),
	fc.record({ do: fc.constant("hold" as const), back: fc.option(fc.nat(30), { nil: undefined }) }),
	fc.record({ do: fc.constant("lose" as const), facts: fc.array(fact, { minLength: 1, maxLength: 4 }) }),
	fc.record({ do: fc.constant("reopen" as const) }),
	fc.record({ do: fc.constant("die" as const) }),
	{
		weight: 3,
		arbitrary: fc.record({
			do: fc.constant("read" as const),
			at: fc.double({ min: 0, max: 1.1, noNaN: true }),
			by: fc.constantFrom("seq" as const, "offset" as const),
			maxBytes: fc.nat(10_000),
		}),
	},
);

it("every reader sees every event that was written and not dropped, from any start, at any time", async () => {
	await fc.assert(
		fc.asyncProperty(
			fc.array(step, { maxLength: 40 }),
			fc.record({ limitBytes: fc.integer({ min: 800, max: 60_000 }), gatherMs: fc.constantFrom(0, 2) }),
			async (steps, options) => {
				const place = mkdtempSync(join(MEMORY, "hawser-journal-"));
				const run = new Run(place, options);
				try {
					await run.open();
					for (const each of steps) await run.take(each);
					await run.finish();
				} finally {
					await run.close();
					rmSync(place, { recursive: true });
				}
			},
		),
		{ numRuns: 100 },
	);
}, 120_000);

class Run {
	readonly #place: string;
	/** Number of writer deaths; each time, the next one continues on a copy of the directory. */
	#deaths = 0;
	readonly #options: { limitBytes: number; gatherMs: number };
	readonly #clock = new FakeClock();
	#memory!: Memory;
	/** All events that the journal must have had, in order. */
	#events: Event[] = [];
	#reader: ArchiveReader | undefined;

	constructor(place: string, options: { limitBytes: number; gatherMs: number }) {
		this.#place = place;
		this.#options = options;
	}

	get #directory(): string {
		return join(this.#place, String(this.#deaths));
	}

	async open(): Promise<void> {
		const journal = await Journal.open({ ...this.#options, directory: this.#directory, clock: this.#clock });
		this.#memory = new Memory(journal);
	}

	async take(step: Step): Promise<void> {
		const { archive } = this.#memory;
		switch (step.do) {
			case "append":
				this.#events.push(...this.#memory.append(...step.facts));
				return;
			case "wait":
				return this.#settle();
			case "hold":
				this.#memory.held = step.back === undefined ? Number.POSITIVE_INFINITY : archive.end.seq - step.back;
				this.#memory.wake();
				return;
			case "lose": {
				// A gap in the numbers, as after a temporary disk failure.
				await this.#settle();
				if (archive.isFull) return;
				const { wake } = archive;
				archive.wake = () => {};
				this.#memory.append(...step.facts);
				archive.wake = wake;
				this.#memory.dropAll();
				return;
			}
			case "reopen":
				await this.close();
				return this.open();
			case "die": {
				await this.#settle();
				const left = this.#directory;
				const { oldest, end } = archive;
				this.#deaths++;
				cpSync(left, this.#directory, { recursive: true });
				await this.close();
				await this.open();
				expect([this.#memory.archive.oldest, this.#memory.archive.end]).toEqual([oldest, end]);
				// Events that a full journal had not taken were lost with the writer.
				this.#events = this.#events.filter(({ seq }) => seq < end.seq);
				return;
			}
			case "read": {
				const end = archive.end;
				const place = Math.floor(step.at * (step.by === "seq" ? end.seq : end.offset));
				this.#reader ??= archive.reader();
				const before = { oldest: archive.oldest.seq, end: archive.end.seq };
				const got = await this.#reader.read(
					step.by === "seq" ? { seq: place, offset: 0 } : { offset: place },
					step.maxBytes,
				);
				this.#check(got, step.by, place, before);
			}
		}
	}

	/** At the end, the newest events are still there, and another process reads the same. */
	async finish(): Promise<void> {
		this.#memory.held = Number.POSITIVE_INFINITY;
		this.#memory.wake();
		await this.#settle();
		await this.close();
		const { oldest } = this.#memory.archive;
		const expected = this.#events.filter(({ seq }) => seq >= oldest.seq);
		const stored = await openForReading(this.#directory);
		expect(stored.oldest).toEqual(oldest);
		expect(await readAll(stored.reader(), { seq: 1 }, 5000)).toEqual(expected);
		for (const event of expected) expect((await readAll(stored.reader(), { seq: event.seq }, 1e6))[0]).toEqual(event);
	}

	async close(): Promise<void> {
		await this.#reader?.close();
		this.#reader = undefined;
		await this.#memory.archive.close();
	}

	/** Waits until everything is written, or nothing more can be. */
	async #settle(): Promise<void> {
		const { archive } = this.#memory;
		const last = this.#memory.events.at(-1)?.seq ?? 0;
		while (archive.end.seq <= last && !this.#memory.isHeldUp) {
			this.#clock.advance(2);
			await fileTurns();
		}
	}

	/** The events read are consecutive, starting at the requested position or at the oldest event. */
	#check(got: readonly Event[], by: "seq" | "offset", place: number, before: { oldest: number; end: number }): void {
		const isAt = (event: Event) =>
			by === "seq"
				? event.seq >= place
				: event.kind === "output"
					? event.offset + byteLength(event) > place
					: event.offset >= place;
		const first = got[0];
		const oldestNow = this.#memory.archive.oldest.seq;
		if (first === undefined) {
			// Only if the archive had nothing yet, or dropped it.
			const from = Math.max(before.oldest, oldestNow);
			expect(this.#events.filter((event) => isAt(event) && event.seq >= from && event.seq < before.end)).toEqual([]);
			return;
		}
		const from = this.#events.findIndex((event) => event.seq === first.seq);
		expect(got).toEqual(this.#events.slice(from, from + got.length));
		const wanted = this.#events.find((event) => isAt(event) && event.seq >= before.oldest) as Event;
		// A segment that was dropped after it was opened may still be read, so an older event is correct.
		expect(first.seq).toBeLessThanOrEqual(Math.max(wanted.seq, oldestNow));
		expect(isAt(first)).toBe(true);
	}
}
