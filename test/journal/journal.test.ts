import { readdirSync, statSync, unlinkSync } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { byteLength, type Event, type Fact } from "../../src/core/log/event.ts";
import { Log } from "../../src/core/log/log.ts";
import { eventually } from "../support/reading.ts";
import { fileTurns, Memory, openJournal, output, readAll, sampleFacts, temporaryDirectory, write } from "./support.ts";

const kilobyte = (letter: string) => output(letter.repeat(1000));

describe("stored events", () => {
	it("reads of any size return the same events from every event on", async () => {
		const { journal } = await openJournal({ limitBytes: 1600 });
		const memory = new Memory(journal);
		const events = memory.append(...sampleFacts);
		await memory.taken();
		expect(journal.end).toEqual({ seq: 11, offset: 111 });
		expect(journal.oldest).toEqual({ seq: 1, offset: 0 });
		for (const maxBytes of [1, 50, 1000]) {
			for (let seq = 0; seq <= 12; seq++) {
				expect(await readAll(journal.reader(), { seq }, maxBytes)).toEqual(events.filter((event) => event.seq >= seq));
			}
		}
	});

	it("reads return the same events from every output byte on", async () => {
		const { journal, directory } = await openJournal({ limitBytes: 1600 });
		const memory = new Memory(journal);
		const events = memory.append(...sampleFacts);
		await memory.taken();
		expect(readdirSync(directory).length).toBeGreaterThan(2);
		for (let offset = 0; offset <= 112; offset++) {
			const first = events.findIndex((event) =>
				event.kind === "output" ? event.offset + byteLength(event) > offset : event.offset >= offset,
			);
			expect(await readAll(journal.reader(), { offset }), `from byte ${offset}`).toEqual(
				first < 0 ? [] : events.slice(first),
			);
		}
	});

	it("one reader can read back and forth", async () => {
		const { journal } = await openJournal({ limitBytes: 1600 });
		const memory = new Memory(journal);
		const events = memory.append(...sampleFacts);
		await memory.taken();
		const reader = journal.reader();
		for (const seq of [7, 8, 3, 9, 1, 2, 10, 10, 5]) {
			expect((await reader.read({ seq }, 1))[0]).toEqual(events[seq - 1]);
		}
		await reader.close();
		await reader.close();
	});

	it("an event may be larger than a batch, a segment and the limit", async () => {
		const { journal } = await openJournal({ limitBytes: 8000 });
		const memory = new Memory(journal);
		const large: Fact = { kind: "output", stream: "stdout", bytes: new Uint8Array(3_000_000).fill(65) };
		const events = memory.append(output("a"), large, output("b"));
		// Read after close, since the oldest events are dropped later.
		await journal.close();
		expect(await readAll(journal.reader())).toEqual(events.slice(2));
		expect(journal.oldest.seq).toBe(3);
	});

	it("a journal is readable only by its owner", async () => {
		const directory = join(temporaryDirectory(), "a", "b");
		await write(sampleFacts, { directory });
		expect(statSync(directory).mode & 0o777).toBe(0o700);
		for (const name of await readdir(directory)) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
	});
});

describe("segments", () => {
	it("segments end at their size and are named by their start", async () => {
		const directory = temporaryDirectory();
		await write(
			Array.from({ length: 10 }, () => kilobyte("x")),
			{ directory, segmentBytes: 3200 },
		);
		const names = (await readdir(directory)).sort();
		expect(names.map((name) => name.slice(0, 33))).toEqual([
			"0000000000000001-0000000000000000",
			"0000000000000004-0000000000003000",
			"0000000000000007-0000000000006000",
			"0000000000000010-0000000000009000",
		]);
		expect(names.map((name) => statSync(join(directory, name)).size)).toEqual([3134, 3134, 3134, 1066]);
	});

	it("segments are dropped as a whole, oldest first, to stay within the limit", async () => {
		const { journal, directory } = await openJournal({ limitBytes: 16_000 });
		const memory = new Memory(journal);
		const events: Event[] = [];
		for (let n = 0; n < 50; n++) {
			events.push(...memory.append(kilobyte("y")));
			await memory.taken();
			expect(diskBytes(directory)).toBeLessThanOrEqual(16_000);
		}
		await journal.close();
		expect(diskBytes(directory)).toBeLessThanOrEqual(16_000);
		expect(journal.isFull).toBe(false);
		expect(journal.oldest).toEqual({ seq: 37, offset: 36_000 });
		expect(await readAll(journal.reader())).toEqual(events.slice(36));
		expect(await readAll(journal.reader(), { offset: 5 })).toEqual(events.slice(36));
	});

	it("new segments reuse the files of dropped ones", async () => {
		const { journal, directory } = await openJournal({ limitBytes: 16_000 });
		const memory = new Memory(journal);
		const inodes = () => new Set(readdirSync(directory).map((name) => statSync(join(directory, name)).ino));
		const fill = async (count: number) => {
			for (let n = 0; n < count; n++) {
				memory.append(kilobyte("r"));
				await memory.taken();
			}
		};
		await fill(14);
		const before = inodes();
		expect(before.size).toBe(14);
		await fill(20);
		expect(inodes()).toEqual(before);
	});

	it("a segment in a reused larger file contains only its own events", async () => {
		const { journal, directory } = await openJournal({ limitBytes: 16_000 });
		const memory = new Memory(journal);
		for (let n = 0; n < 42; n++) {
			memory.append(output("v".repeat(n < 40 ? 1800 : 1200)));
			await memory.taken();
		}
		const kept = memory.events.slice(journal.oldest.seq - 1);
		const sizes = () => readdirSync(directory).map((name) => statSync(join(directory, name)).size);
		const records = kept.reduce((sum, event) => sum + 34 + byteLength(event), 0);
		expect(sizes().length).toBe(kept.length);
		// The newest segment of 1200 bytes still has the tail of an old one of 1800.
		expect(diskBytes(directory)).toBe(records + 32 * kept.length + 600);
		await journal.close();
		expect(diskBytes(directory)).toBe(records + 32 * kept.length);
	});

	it("a reader stops at a segment that is dropped, even if its file is reused", async () => {
		const { journal } = await openJournal({ limitBytes: 8 * 400 });
		const memory = new Memory(journal);
		const fill = async (count: number) => {
			for (let n = 0; n < count; n++) memory.append(output("d".repeat(80)));
			await memory.taken();
		};
		await fill(6);
		const reader = journal.reader();
		expect(await reader.read({ seq: 1 }, 1)).toEqual(memory.events.slice(0, 1));
		await fill(60);
		const rest = await readAll(reader, { seq: 2 });
		expect(rest.at(-1)).toEqual(memory.events.at(-1));
		expect(rest).toEqual(memory.events.filter(({ seq }) => (seq > 1 && seq <= 3) || seq >= journal.oldest.seq));
	});

	it("deleted segment files are missed by readers only", async () => {
		const { journal, directory } = await openJournal({ limitBytes: 16_000 });
		const memory = new Memory(journal);
		for (let n = 0; n < 10; n++) memory.append(kilobyte("q"));
		await memory.taken();
		const [first, , third] = readdirSync(directory).sort() as [string, string, string];
		for (const name of [first, third]) unlinkSync(join(directory, name));
		const left = memory.events.filter(({ seq }) => seq !== 1 && seq !== 3);
		expect(await readAll(journal.reader())).toEqual(left);
		expect(await readAll(journal.reader(), { seq: 3 })).toEqual(left.filter(({ seq }) => seq > 3));
		for (let n = 0; n < 10; n++) memory.append(kilobyte("q"));
		await memory.taken();
		expect(journal.isHealthy).toBe(true);
		expect(await readAll(journal.reader())).toEqual(memory.events.slice(journal.oldest.seq - 1));
	});

	it("held segments are kept: the journal is full and takes nothing until the hold moves", async () => {
		const { journal, directory } = await openJournal({ limitBytes: 16_000 });
		const memory = new Memory(journal);
		memory.held = 3;
		for (let n = 0; n < 50; n++) memory.append(kilobyte("z"));
		await memory.until((archive) => archive.isFull);
		const stopped = journal.end.seq;
		expect(stopped).toBeLessThan(51);
		expect(journal.oldest.seq).toBe(1 + 2);

		memory.held = 10;
		journal.wake();
		await memory.until((archive) => archive.end.seq > stopped && archive.isFull);
		expect(journal.oldest.seq).toBe(10);
		expect(diskBytes(directory)).toBeLessThanOrEqual(16_000);

		memory.held = Number.POSITIVE_INFINITY;
		journal.wake();
		await memory.taken();
		await memory.until((archive) => !archive.isFull);
		await journal.close();
		expect(await readAll(journal.reader(), { seq: 10 })).toEqual(memory.events.slice(journal.oldest.seq - 1));
	});

	it("close writes the remaining events although segments are held", async () => {
		const { journal } = await openJournal({ limitBytes: 4000 });
		const memory = new Memory(journal);
		memory.held = 1;
		const events: Event[] = [];
		for (let n = 0; n < 10; n++) {
			events.push(...memory.append(kilobyte("w")));
			await memory.until((archive) => archive.isFull || archive.end.seq === events.length + 1);
		}
		expect(journal.isFull).toBe(true);
		events.push(...memory.append({ kind: "closed" }));
		await journal.close();
		expect(await readAll(journal.reader())).toEqual(events);
	});
});

describe("the writer", () => {
	it("events appended during a write become one batch", async () => {
		const { journal } = await openJournal();
		const memory = new Memory(journal);
		const peek = vi.spyOn(memory, "peek");
		for (let n = 0; n < 1000; n++) memory.append(output("k"));
		await memory.taken();
		expect(peek.mock.calls.length).toBeLessThan(5);
	});

	it("a write starts at once after a pause, and otherwise waits briefly for more events", async () => {
		const { journal, clock } = await openJournal({ gatherMs: 2 });
		const memory = new Memory(journal);
		memory.append(output("first"));
		await memory.taken();
		await fileTurns();
		memory.append(output("second"));
		memory.append(output("third"));
		await fileTurns();
		expect(journal.end.seq).toBe(2);
		clock.advance(2);
		await memory.taken();
		await fileTurns();
		clock.advance(2);
		memory.append(output("fourth"));
		await memory.taken();
	});

	it("a write does not wait once there is enough, whatever the size of the events", async () => {
		for (const memoryBytes of [1024 * 1024, 20_000]) {
			for (const size of [300, 4096, 65_536, 300_000]) {
				const { journal } = await openJournal({ gatherMs: 2, memoryBytes });
				const memory = new Memory(journal);
				memory.append(output("first"));
				await memory.taken();
				await fileTurns();
				for (let bytes = 0; bytes < memoryBytes; bytes += size) memory.append(output("m".repeat(size)));
				await memory.until((archive) => archive.end.offset > memoryBytes / 2);
			}
		}
	});

	it("with fsync always, the end moves only once bytes are durable", async () => {
		const order: string[] = [];
		const spy = await spyOnDatasync(() => order.push("durable"));
		const { journal, clock } = await openJournal({ fsync: "always" });
		const memory = new Memory(journal);
		const moved = memory.until((archive) => archive.end.seq > 1).then(() => order.push("moved"));
		memory.append(output("a"));
		await moved;
		expect(order).toEqual(["durable", "moved"]);
		expect(clock.pending).toBe(0);
		await journal.close();
		expect(order).toEqual(["durable", "moved"]);
		spy.mockRestore();
	});

	it("with fsync always, events that could not be made durable leave nothing behind", async () => {
		let failures = 0;
		const { journal, clock, directory } = await openJournal({ fsync: "always" });
		const memory = new Memory(journal);
		const [first] = memory.append(output("a"));
		await memory.taken();
		const spy = await spyOnDatasync(() => {
			if (failures++ === 0) throw new Error("the disk is broken");
		});
		memory.append(kilobyte("b"));
		await memory.until((archive) => !archive.isHealthy);
		memory.dropAll();
		const [third] = memory.append(output("c"));
		clock.advance(1000);
		await memory.taken();
		await journal.close();
		expect(diskBytes(directory)).toBe(32 + 35 + 35);
		expect(await readAll(journal.reader())).toEqual([first, third]);
		spy.mockRestore();
	});

	it("the journal is synced once a second while there are new events", async () => {
		let syncs = 0;
		const spy = await spyOnDatasync(() => syncs++);
		const { journal, clock } = await openJournal({ segmentBytes: 2000 });
		const memory = new Memory(journal);
		for (let n = 0; n < 4; n++) memory.append(kilobyte("s"));
		await memory.taken();
		expect([syncs, clock.pending]).toEqual([0, 1]);
		clock.advance(1000);
		await eventually("all syncs", () => syncs === 4);
		clock.advance(10_000);
		memory.append(output("more"));
		await memory.taken();
		expect([syncs, clock.pending]).toEqual([4, 1]);
		await journal.close();
		expect([syncs, clock.pending]).toEqual([5, 0]);
		spy.mockRestore();
	});

	it("close is idempotent and works before anything was written", async () => {
		const { journal, directory } = await openJournal();
		const memory = new Memory(journal);
		const events = memory.append(...sampleFacts);
		await Promise.all([journal.close(), journal.close()]);
		expect(await readAll(journal.reader())).toEqual(events);
		const { journal: unused } = await openJournal({ directory });
		expect(unused.end).toEqual({ seq: 11, offset: 111 });
		await unused.close();
	});

	it("a journal serves a log, whose readers get every byte though memory keeps few", async () => {
		const { journal, clock } = await openJournal();
		let isPaused = false;
		const onPressure = (isFull: boolean) => {
			isPaused = isFull;
		};
		const log = new Log({ clock, memoryBytes: 10_000, archive: journal, onPressure });
		for (let n = 0; n < 300; n++) {
			log.append(kilobyte(String.fromCharCode(97 + (n % 26))));
			while (isPaused) await log.archived();
		}
		expect(log.memoryOldest.seq).toBeGreaterThan(250);
		const reader = journal.reader();
		const events = await readAll(reader, { seq: 1 }, 5000);
		expect(events.length).toBeGreaterThan(250);
		expect(events.every((event, index) => event.seq === index + 1)).toBe(true);
	});
});

function diskBytes(directory: string): number {
	return readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
}

async function spyOnDatasync(see: () => void) {
	const handle = await open(temporaryDirectory(), "r");
	const prototype = Object.getPrototypeOf(handle) as { datasync(): Promise<void> };
	await handle.close();
	const original = prototype.datasync;
	return vi.spyOn(prototype, "datasync").mockImplementation(async function (this: unknown) {
		await original.call(this);
		see();
	});
}
