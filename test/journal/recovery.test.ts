import { randomBytes } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Event, Fact } from "../../src/core/log/event.ts";
import { appendEnd } from "../../src/journal/journal.ts";
import { openForReading } from "../../src/journal/journal-reader.ts";
import { encodeHeader, encodeRecords, nameSegment, parseSegmentName } from "../../src/journal/segment-format.ts";
import { MEMORY, Memory, openJournal, output, readAll, sampleFacts, temporaryDirectory, write } from "./support.ts";

const headerBytes = 32;

describe("a truncated journal", () => {
	it("a journal truncated at any byte keeps all whole events, takes more, and reads back", async () => {
		const { original, segments } = await sampleJournal();
		const last = segments.at(-1) as Segment;
		expect(last.events.length).toBeGreaterThan(1);
		const before = segments.slice(0, -1).flatMap((segment) => segment.events);
		for (let length = 0; length <= last.size; length++) {
			const directory = copy(original);
			truncateSync(join(directory, last.name), length);
			const whole = last.events.filter((_, index) => (last.ends[index] as number) <= length);
			const intact = [...before, ...whole];

			expect(await readAll((await openForReading(directory)).reader()), `cut at ${length}`).toEqual(intact);
			const more = await write([output("more"), { kind: "closed" }], { directory });
			expect(more[0]?.seq, `cut at ${length}`).toBe((intact.at(-1) as Event).seq + 1);
			expect(await readAll((await openForReading(directory)).reader()), `cut at ${length}`).toEqual([
				...intact,
				...more,
			]);
			rmSync(directory, { recursive: true });
		}
	});

	it("a truncated segment loses no later segments, and is left as it is", async () => {
		const { original, segments } = await sampleJournal();
		const first = segments[0] as Segment;
		const after = segments.slice(1).flatMap((segment) => segment.events);
		for (let length = 0; length <= first.size; length++) {
			const directory = copy(original);
			truncateSync(join(directory, first.name), length);
			const whole = first.events.filter((_, index) => (first.ends[index] as number) <= length);
			await write([], { directory });
			expect(await readAll((await openForReading(directory)).reader()), `cut at ${length}`).toEqual([
				...whole,
				...after,
			]);
			expect(readFileSync(join(directory, first.name)).length).toBe(length);
			rmSync(directory, { recursive: true });
		}
	});
});

describe("a damaged journal", () => {
	it("a journal with any damaged byte keeps all other events with their numbers, takes more, and reads back", async () => {
		const { original, segments } = await sampleJournal();
		const all = segments.flatMap((segment) => segment.events);
		for (const segment of segments) {
			for (let at = 0; at < segment.size; at++) {
				const hit = segment.ends.findIndex((end) => at < end);
				const intact = at < headerBytes ? all : all.filter((event) => event !== segment.events[hit]);
				for (const mask of [0x01, 0xff]) {
					flip(join(original, segment.name), at, mask);
					const label = `${segment.name} byte ${at} mask ${mask}`;
					const stored = await openForReading(original);
					expect(await readAll(stored.reader()), label).toEqual(intact);
					flip(join(original, segment.name), at, mask);
				}
				const directory = copy(original);
				flip(join(directory, segment.name), at, 0x80);
				const more = await write([output("more")], { directory });
				expect(await readAll((await openForReading(directory)).reader())).toEqual([...intact, ...more]);
				rmSync(directory, { recursive: true });
			}
		}
	}, 120_000);

	it("reads continue after the damage, from every start", async () => {
		const { original, segments } = await sampleJournal();
		const all = segments.flatMap((segment) => segment.events);
		const second = segments[1] as Segment;
		flip(join(original, second.name), (second.ends[0] as number) - 1, 0x10);
		const intact = all.filter((event) => event !== second.events[0]);
		for (let seq = 1; seq <= all.length; seq++) {
			expect(await readAll((await openForReading(original)).reader(), { seq }), `from ${seq}`).toEqual(
				intact.filter((event) => event.seq >= seq),
			);
		}
	});

	it("output that looks like records is not taken for events, even if copied from another journal", async () => {
		const directory = temporaryDirectory();
		const forged: Event = { kind: "output", stream: "pty", bytes: Buffer.from("forged"), seq: 3, offset: 600, time: 0 };
		const foreign = Buffer.concat(encodeRecords([forged], 0x1234, 1000).pieces);
		const printed: Fact = { kind: "output", stream: "pty", bytes: Buffer.concat([foreign, Buffer.alloc(50), foreign]) };
		const events = await write([output("a"), printed, output("b")], { directory });
		const [name] = readdirSync(directory) as [string];
		flip(join(directory, name), headerBytes + 35 + 34 + foreign.length + 5, 1);
		expect(await readAll((await openForReading(directory)).reader())).toEqual([events[0], events[2]]);
	});
});

describe("a journal whose writer died in a reused segment file", () => {
	it("a partly overwritten segment keeps exactly the new whole events, and nothing of the old segment", async () => {
		const { left, overwritten, name, events } = await reusedJournal();
		const written = readFileSync(join(left, name));
		const record = 34 + 50;
		expect([written.length, overwritten.length]).toEqual([headerBytes + 3 * record, headerBytes + 3 * record]);
		const older = events.filter(({ seq }) => seq < Number(name.slice(0, 16)));
		for (let length = 0; length <= written.length; length++) {
			const directory = copy(left);
			const torn = Buffer.concat([written.subarray(0, length), overwritten.subarray(length)]);
			writeFileSync(join(directory, name), torn);
			const whole = Math.max(0, Math.floor((length - headerBytes) / record));
			const intact = [...older, ...events.slice(older.length, older.length + whole)];

			expect(await readAll((await openForReading(directory)).reader()), `cut at ${length}`).toEqual(intact);
			const more = await write([output("more"), { kind: "closed" }], { directory });
			expect(await readAll((await openForReading(directory)).reader()), `cut at ${length}`).toEqual([
				...intact,
				...more,
			]);
			const bytes = readFileSync(join(directory, name));
			expect(bytes.length).toBe(headerBytes + whole * record + 38 + 34);
			expect(bytes.subarray(0, headerBytes)).toEqual(written.subarray(0, headerBytes));
			rmSync(directory, { recursive: true });
		}
	});

	it("output that looks like records does not make the search longer", async () => {
		const directory = temporaryDirectory();
		const name = nameSegment({ seq: 1, offset: 0 });
		const [first, last] = [1, 9].map((seq): Event => ({ kind: "lost", message: "m", seq, offset: 0, time: 1 })) as [
			Event,
			Event,
		];
		const record = (event: Event, salt = name.salt) => Buffer.concat(encodeRecords([event], salt, 0).pieces);
		/** Records of another journal, each ending where the previous one does. */
		const forged = (count: number) => {
			const bytes = Buffer.alloc(count * 34);
			for (let at = 0; at < bytes.length; at += 34) {
				const body = new Uint8Array(bytes.length - at - 34);
				const event: Event = { kind: "output", stream: "pty", bytes: body, seq: 5, offset: 5, time: 1 };
				record(event, 0x1234).copy(bytes, at, 0, 34);
			}
			return bytes;
		};
		const found = async (forgeries: number) => {
			const parts = [encodeHeader(name.start), record(first), forged(forgeries), record(last)];
			writeFileSync(join(directory, name.name), Buffer.concat(parts));
			return readAll((await openForReading(directory)).reader());
		};
		expect(await found(20)).toEqual([first, last]);
		// At most sixteen times the bytes are checked.
		expect(await found(100)).toEqual([first]);
	});

	it("a damaged journal is searched in steps, with other work in between", async () => {
		const directory = temporaryDirectory();
		const name = nameSegment({ seq: 1, offset: 0 });
		// It contains no record, so every offset must be checked.
		writeFileSync(join(directory, name.name), Buffer.concat([encodeHeader(name.start), randomBytes(16 * 1024 ** 2)]));
		let isOver = false;
		let longestMs = 0;
		const beating = (async () => {
			for (let last = performance.now(); !isOver; ) {
				await new Promise((resolve) => setImmediate(resolve));
				const now = performance.now();
				longestMs = Math.max(longestMs, now - last);
				last = now;
			}
		})();
		const began = performance.now();
		expect(await readAll((await openForReading(directory)).reader())).toEqual([]);
		const tookMs = performance.now() - began;
		isOver = true;
		await beating;
		expect(longestMs).toBeLessThan(tookMs / 4);
	});
});

describe("a journal of a newer version", () => {
	it("a journal of a newer version is refused everywhere, and not changed", async () => {
		const { original, segments } = await sampleJournal();
		const name = (segments[0] as Segment).name;
		const bytes = readFileSync(join(original, name));
		const header = Buffer.from(encodeHeader({ seq: 1, offset: 0 }));
		header.writeUInt16LE(2, 8);
		header.writeUInt32LE(checksum(header.subarray(0, 28)), 28);
		header.copy(bytes);
		writeFileSync(join(original, name), bytes);
		truncateSync(join(original, (segments.at(-1) as Segment).name), 40);
		const contents = () =>
			readdirSync(original).map((file) => [file, readFileSync(join(original, file)).toString("hex")]);
		const before = contents();

		const refusal = { code: "unsupported", message: expect.stringMatching(/newer version \(2; this one reads 1\)/) };
		await expect(openJournal({ directory: original })).rejects.toMatchObject(refusal);
		await expect(openForReading(original)).rejects.toMatchObject(refusal);
		await expect(appendEnd(original, { kind: "lost", message: "gone" }, 1)).rejects.toMatchObject(refusal);
		expect(contents()).toEqual(before);
	});
});

type Segment = { readonly name: string; readonly size: number; readonly events: Event[]; readonly ends: number[] };

/** A journal of several small segments, with the position of each event. */
async function sampleJournal(): Promise<{ original: string; segments: Segment[] }> {
	const original = temporaryDirectory(MEMORY);
	const written = await write(sampleFacts, { directory: original, segmentBytes: 280 });
	const segments: Segment[] = readdirSync(original)
		.sort()
		.map((name) => ({ name, size: readFileSync(join(original, name)).length, events: [], ends: [] }));
	for (const event of written) {
		const segment = segments.findLast(({ name }) => Number(name.slice(0, 16)) <= event.seq) as Segment;
		const [size] = encodeRecords([event], parseSegmentName(segment.name)?.salt ?? 0, 0).ends as [number];
		segment.events.push(event);
		segment.ends.push((segment.ends.at(-1) ?? headerBytes) + size);
	}
	expect(segments.length).toBeGreaterThan(2);
	expect(segments.map(({ ends }) => ends.at(-1))).toEqual(segments.map(({ size }) => size));
	return { original, segments };
}

/** The files of a writer that died after overwriting its oldest segment, and that segment's former content. */
async function reusedJournal() {
	const { journal, directory } = await openJournal({ directory: temporaryDirectory(MEMORY), limitBytes: 8 * 290 });
	const memory = new Memory(journal);
	let oldest = "";
	let overwritten = Buffer.alloc(0);
	while (memory.events.length < 9 * 3) {
		memory.append(output(String.fromCharCode(65 + memory.events.length).repeat(50)));
		await memory.taken();
		if (memory.events.length !== 8 * 3) continue;
		oldest = readdirSync(directory).sort()[0] as string;
		overwritten = readFileSync(join(directory, oldest));
	}
	const left = copy(directory);
	onTestFinished(() => rmSync(left, { recursive: true }));
	const names = readdirSync(left).sort();
	expect(names).not.toContain(oldest);
	const name = names.at(-1) as string;
	const events = memory.events.filter(({ seq }) => seq >= journal.oldest.seq);
	return { left, overwritten, name, events };
}

let copies = 0;

function copy(directory: string): string {
	const target = join(directory, "..", `${directory.split("/").at(-1)}-${copies++}`);
	mkdirSync(target);
	for (const name of readdirSync(directory)) copyFileSync(join(directory, name), join(target, name));
	return target;
}

function flip(path: string, at: number, mask: number): void {
	const bytes = readFileSync(path);
	bytes[at] = (bytes[at] as number) ^ mask;
	writeFileSync(path, bytes);
}

function checksum(bytes: Uint8Array): number {
	let crc = ~0;
	for (const byte of bytes) {
		crc ^= byte;
		for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
	}
	return ~crc >>> 0;
}
