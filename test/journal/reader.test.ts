import { readdirSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Event } from "../../src/core/log/event.ts";
import { appendEnd } from "../../src/journal/journal.ts";
import { JournalReader, openForReading } from "../../src/journal/journal-reader.ts";
import { encodeHeader, encodeRecords, nameSegment } from "../../src/journal/segment-format.ts";
import { Memory, openJournal, output, readAll, sampleFacts, temporaryDirectory, write } from "./support.ts";

describe("a reader beside the writer", () => {
	it("a concurrent reader gets every event in order while segments are added", async () => {
		const { journal } = await openJournal({ segmentBytes: 3000 });
		const memory = new Memory(journal);
		const reader = journal.reader();
		const seen: Event[] = [];
		for (let n = 0; n < 200; n++) {
			memory.append(output(String(n).repeat(100)), output("-"));
			if (n % 7 === 0) await memory.taken();
			seen.push(...(await reader.read({ seq: seen.length + 1 }, 500)));
		}
		await memory.taken();
		seen.push(...(await readAll(reader, { seq: seen.length + 1 })));
		expect(seen).toEqual(memory.events);
	});

	it("a reader ignores a partial record until it is complete", async () => {
		const directory = temporaryDirectory();
		const name = nameSegment({ seq: 1, offset: 0 });
		const events: Event[] = [1, 2].map((seq) => ({ kind: "lost", message: "abc", seq, offset: 0, time: 1 }));
		const file = Buffer.concat([encodeHeader(name.start), ...encodeRecords(events, name.salt, 1000).pieces]);
		const reader = new JournalReader(directory);
		expect(await reader.read({ seq: 1 }, 1000)).toEqual([]);
		const seen: Event[] = [];
		for (let length = 0; length <= file.length; length++) {
			writeFileSync(join(directory, name.name), file.subarray(0, length));
			const got = await reader.read({ seq: seen.length + 1 }, 1000);
			seen.push(...got);
			expect(seen.length, `at ${length}`).toBe(length < 32 + 37 ? 0 : length < 32 + 74 ? 1 : 2);
		}
		expect(seen).toEqual(events);
		await reader.close();
	});

	it("a reader finishes its open segment after it is deleted, then continues with the remaining ones", async () => {
		const directory = temporaryDirectory();
		const events = await write(
			Array.from({ length: 12 }, (_, n) => output(`${n}`.repeat(100))),
			{ directory, segmentBytes: 400 },
		);
		const reader = new JournalReader(directory);
		expect(await reader.read({ seq: 1 }, 1)).toEqual([events[0]]);
		for (const name of readdirSync(directory).sort().slice(0, 3)) unlinkSync(join(directory, name));
		const rest = await readAll(reader, { seq: 2 });
		const left = (await readAll(new JournalReader(directory)))[0]?.seq as number;
		expect(left).toBeGreaterThan(4);
		expect(rest).toEqual(events.filter(({ seq }) => (seq > 1 && seq <= 2) || seq >= left));
	});

	it("a reader finds nothing once the journal is deleted", async () => {
		const directory = temporaryDirectory();
		await write(sampleFacts, { directory });
		rmSync(directory, { recursive: true });
		expect(await readAll(new JournalReader(directory))).toEqual([]);
		expect((await openForReading(directory)).end).toEqual({ seq: 1, offset: 0 });
	});
});

describe("a reader by offset", () => {
	it("a read by offset keeps an empty output that follows the first event", async () => {
		const directory = temporaryDirectory();
		const events = await write([{ kind: "resized", size: { cols: 1, rows: 1 } }, output(""), output("a")], {
			directory,
		});
		expect(await readAll(new JournalReader(directory), { offset: 0 }, 1000)).toEqual(events);
	});
});

describe("a stored journal", () => {
	it("a stored journal begins and ends where its files do, and accepts no events", async () => {
		const directory = temporaryDirectory();
		await write([...sampleFacts.slice(0, -1), output("o".repeat(2000))], { directory, segmentBytes: 300 });
		const stored = await openForReading(directory);
		expect(stored).toMatchObject({ oldest: { seq: 1, offset: 0 }, end: { seq: 11, offset: 2111 } });
		stored.start();
		stored.wake();
		await stored.close();
	});
});

describe("appendEnd", () => {
	it("appendEnd adds a lost event as the last one, once", async () => {
		const directory = temporaryDirectory();
		const events = await write(sampleFacts.slice(0, 4), { directory, segmentBytes: 150 });
		const lost = { kind: "lost", message: "the keeper died", seq: 5, offset: 13, time: 1234.5 };
		expect((await appendEnd(directory, { kind: "lost", message: "the keeper died" }, 1234.5)).last).toEqual(lost);
		expect((await appendEnd(directory, { kind: "lost", message: "again" }, 9999)).last).toEqual(lost);
		expect(await readAll((await openForReading(directory)).reader())).toEqual([...events, lost]);
	});

	it("appendEnd does not change a complete journal", async () => {
		const directory = temporaryDirectory();
		const events = await write(sampleFacts, { directory });
		expect((await appendEnd(directory, { kind: "lost", message: "the keeper died" }, 1)).last).toEqual(events.at(-1));
		expect(await readAll((await openForReading(directory)).reader())).toEqual(events);
	});

	it("appendEnd continues after the events that other readers have seen, and starts a missing journal", async () => {
		const directory = join(temporaryDirectory(), "none");
		const lost = { kind: "lost", message: "m", seq: 8, offset: 99, time: 1 };
		expect((await appendEnd(directory, { kind: "lost", message: "m" }, 1, { seq: 8, offset: 99 })).last).toEqual(lost);
		expect(await readAll((await openForReading(directory)).reader())).toEqual([lost]);
	});
});
