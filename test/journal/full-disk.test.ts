import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Fact, isFinal } from "../../src/core/log/event.ts";
import { Journal } from "../../src/journal/journal.ts";
import { openForReading } from "../../src/journal/journal-reader.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { fileTurns, Memory, openJournal, output, readAll, temporaryDirectory } from "./support.ts";

const chunk = (size: number): Fact => ({ kind: "output", stream: "pty", bytes: new Uint8Array(size).fill(66) });

describe("on a disk that is full", () => {
	it("on a full disk the journal keeps whole events, reports that once, and recovers by itself when space is free", async () => {
		const disk = mountDisk();
		const { journal, clock, errors } = await openOn(disk);
		const memory = new Memory(journal);
		const written: number[] = [];
		while (journal.isHealthy) {
			memory.append(chunk(33_333));
			await memory.until((archive) => !archive.isHealthy || archive.end.seq > memory.events.length);
		}
		expect(errors).toEqual([expect.objectContaining({ code: "ENOSPC" })]);
		const lostFrom = journal.end.seq;
		written.push(...(await readAll(journal.reader(), { seq: 1 }, 1e6)).map(({ seq }) => seq));
		expect(written).toEqual(Array.from({ length: lostFrom - 1 }, (_, n) => n + 1));

		// The session continues without the journal, through failed attempts at increasing intervals.
		for (const delay of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
			memory.append(chunk(33_333));
			const attempts = countPeeks(memory);
			clock.advance(delay - 1);
			expect(attempts()).toBe(0);
			clock.advance(1);
			await vacant(clock);
			expect(attempts()).toBeGreaterThan(0);
			expect(journal.isHealthy).toBe(false);
		}
		memory.dropAll();
		unlinkSync(join(disk, "ballast"));
		const after = memory.append(chunk(1000), output("back again"));
		clock.advance(30_000);
		await memory.until((archive) => archive.isHealthy);
		await memory.taken();
		expect(errors.length).toBe(1);
		expect(after[0]?.seq).toBeGreaterThan(lostFrom);
		expect(await readAll(journal.reader(), { seq: lostFrom })).toEqual(after);
		await journal.close();
		expect((await openForReading(join(disk, "journal"))).end.seq).toBe((after[1]?.seq as number) + 1);
	});

	it("a partial write leaves no partial record", async () => {
		const disk = mountDisk();
		const { journal } = await openOn(disk);
		const memory = new Memory(journal);
		memory.append(...Array.from({ length: 9 }, () => chunk(100_000)));
		await memory.until((archive) => !archive.isHealthy);
		const kept = memory.events.filter(({ seq }) => seq < journal.end.seq);
		expect(kept.length).toBeGreaterThan(0);
		await journal.close();
		const sizes = readdirSync(join(disk, "journal")).map((name) => statSync(join(disk, "journal", name)).size);
		expect(sizes).toEqual([32 + kept.length * 100_034]);
		expect(await readAll(journal.reader(), { seq: 1 }, 1e6)).toEqual(kept);
	});

	it("close does not hang on a full disk, and writes what fits", async () => {
		const disk = mountDisk();
		const { journal, clock } = await openOn(disk);
		const memory = new Memory(journal);
		memory.append(chunk(2_000_000));
		await memory.until((archive) => !archive.isHealthy);
		await journal.close();
		expect([journal.isHealthy, clock.pending]).toEqual([false, 0]);

		const again = await openOn(disk);
		const second = new Memory(again.journal);
		second.append(chunk(2_000_000));
		await second.until((archive) => !archive.isHealthy);
		second.dropAll();
		const [closed] = second.append({ kind: "closed" });
		await again.journal.close();
		const events = await readAll(again.journal.reader());
		expect(events).toEqual([closed]);
		expect(events.every(isFinal)).toBe(true);
	});
});

describe("on a disk that can't delete the oldest segment", () => {
	it("the journal keeps a segment that it can't delete, reports that once, and continues later", async () => {
		const directory = join(mountDisk(), "journal");
		const errors: unknown[] = [];
		const { journal, clock } = await openJournal({
			directory,
			limitBytes: 16_000,
			onError: (error) => errors.push(error),
		});
		const memory = new Memory(journal);
		for (let n = 0; n < 14; n++) memory.append(chunk(1000));
		await memory.taken();
		const oldest = join(directory, readdirSync(directory).sort()[0] as string);
		execFileSync("mount", ["--bind", oldest, oldest]);
		memory.append(chunk(1000));
		await memory.until((archive) => !archive.isHealthy);
		expect(errors).toEqual([expect.objectContaining({ code: "EBUSY" })]);
		expect(journal.oldest.seq).toBe(1);
		expect(await readAll(journal.reader())).toEqual(memory.events.slice(0, 14));

		execFileSync("umount", [oldest]);
		clock.advance(1000);
		await memory.taken();
		expect(journal.oldest.seq).toBe(2);
		expect(await readAll(journal.reader())).toEqual(memory.events.slice(1));
	});
});

/** A disk of 1 MB, half full. */
function mountDisk(): string {
	const disk = temporaryDirectory();
	execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", disk]);
	onTestFinished(() => {
		execFileSync("umount", ["-l", disk]);
	});
	writeFileSync(join(disk, "ballast"), Buffer.alloc(512 * 1024));
	mkdirSync(join(disk, "journal"));
	return disk;
}

async function openOn(disk: string) {
	const clock = new FakeClock();
	const errors: unknown[] = [];
	const onError = (error: unknown) => {
		errors.push(error);
	};
	const journal = await Journal.open({ directory: join(disk, "journal"), clock, gatherMs: 0, onError });
	onTestFinished(() => journal.close());
	return { journal, clock, errors };
}

function countPeeks(memory: Memory): () => number {
	const peek = memory.peek.bind(memory);
	let count = 0;
	memory.peek = (seq, maxBytes) => {
		count++;
		return peek(seq, maxBytes);
	};
	return () => count;
}

/** Waits until the next attempt is scheduled, which a failed one does last. */
async function vacant(clock: FakeClock): Promise<void> {
	while (clock.pending === 0) await fileTurns();
}
