/** Checkpoints on disk: the nearest is found, and old ones make room for new ones. */

import { appendFile, readFile, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
	type Checkpoint,
	FileCheckpoints,
	MAX_CHECKPOINTS_BYTES,
	MAX_SNAPSHOT_BYTES,
	MemoryCheckpoints,
} from "../../../src/services/screens/checkpoints.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const KIB = 1024;
const END = { seq: 10_000, offset: 10_000 * KIB * KIB };

/** A checkpoint after this many KiB. */
function after(kib: number): Checkpoint {
	const snapshot = Buffer.from(`screen ${kib}`);
	return { seq: kib, offset: kib * KIB, time: 1_000 + kib, cols: 80, rows: 24, snapshot };
}

async function checkpoints() {
	const file = join(await temporaryDirectory(), "screens");
	return { file, kept: new FileCheckpoints(file) };
}

it("the nearest checkpoint before an offset or time is found, also by another instance", async () => {
	const { file, kept } = await checkpoints();
	for (const kib of [1, 5, 9]) await kept.add(after(kib));
	const others = new FileCheckpoints(file);
	expect(await others.nearest({ offset: 8 * KIB }, END)).toEqual(after(5));
	expect(await others.nearest({ time: 1_009 }, END)).toEqual(after(9));
	expect(await others.nearest({ offset: KIB - 1 }, END)).toBeUndefined();
	// Checkpoints beyond the end of the log belong to another log.
	expect(await others.nearest({ offset: 9 * KIB }, { seq: 6, offset: 6 * KIB })).toEqual(after(5));
});

it("a damaged checkpoint is skipped in favor of the one before", async () => {
	const { file, kept } = await checkpoints();
	await kept.add(after(1));
	const [line = ""] = (await readFile(file, "latin1")).trim().split("\n");
	await appendFile(file, `${line.replace('"seq":1,"offset":1024', '"seq":2,"offset":2048')}\n`);
	expect(await new FileCheckpoints(file).nearest(END, END)).toEqual(after(1));
	expect(await kept.nearest(END, END)).toEqual(after(1));
});

it("the newest checkpoints stay, and older ones at a distance from each other", async () => {
	const { file, kept } = await checkpoints();
	// Just enough to rewrite the file once.
	for (let index = 0; index <= 128; index++) await kept.add(after(index * 256));
	const left = (await readFile(file, "latin1")).split("\n").flatMap((line) => {
		return line === "" ? [] : [(JSON.parse(line) as { offset: number }).offset / KIB];
	});
	expect(left.slice(-16)).toEqual(Array.from({ length: 16 }, (_, index) => (113 + index) * 256));
	const older = left.slice(0, -16);
	expect(older[0]).toBeLessThanOrEqual(1024);
	for (const [index, kib] of older.slice(1).entries()) expect(kib - (older[index] ?? 0)).toBe(1024);
});

it("a file of large checkpoints stays below its limit, and keeps the newest", async () => {
	const { file, kept } = await checkpoints();
	for (let index = 1; index <= 40; index++) {
		const snapshot = Buffer.alloc(KIB * KIB, index);
		await kept.add({ ...after(index), snapshot });
		expect((await stat(file)).size).toBeLessThanOrEqual(MAX_CHECKPOINTS_BYTES);
		for (const reader of [kept, new FileCheckpoints(file)]) {
			const found = await reader.nearest(END, END);
			expect(found?.seq).toBe(index);
			expect(snapshot.equals(found?.snapshot ?? Buffer.alloc(0))).toBe(true);
		}
	}
	expect((await stat(file)).size).toBeGreaterThan(MAX_CHECKPOINTS_BYTES / 4);
});

it("a snapshot above the limit is not kept, on disk or in memory", async () => {
	const { file, kept } = await checkpoints();
	const large = { ...after(2), snapshot: Buffer.alloc(MAX_SNAPSHOT_BYTES + 1) };
	for (const each of [kept, new MemoryCheckpoints()]) {
		await each.add(after(1));
		await each.add(large);
		expect(await each.nearest(END, END)).toEqual(after(1));
	}
	expect((await stat(file)).size).toBeLessThan(KIB);
});

it("checkpoints in memory stay below their limit", async () => {
	const kept = new MemoryCheckpoints();
	for (let index = 1; index <= 8; index++) {
		await kept.add({ ...after(index), snapshot: Buffer.alloc(MAX_SNAPSHOT_BYTES, index) });
	}
	const most = MAX_CHECKPOINTS_BYTES / MAX_SNAPSHOT_BYTES;
	expect(await kept.nearest({ offset: (9 - most) * KIB }, END)).toMatchObject({ seq: 9 - most });
	expect(await kept.nearest({ offset: (8 - most) * KIB }, END)).toBeUndefined();
});

it("a file above the limit, from an older version, is rewritten", async () => {
	const { file, kept } = await checkpoints();
	await kept.add(after(1));
	await truncate(file, MAX_CHECKPOINTS_BYTES + 1);
	const next = new FileCheckpoints(file);
	expect(await next.nearest(END, END)).toBeUndefined();
	await next.add(after(2));
	expect(await next.nearest(END, END)).toEqual(after(2));
	expect((await stat(file)).size).toBeLessThan(KIB);
});
