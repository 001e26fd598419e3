/** Checkpoints on disk: the nearest is found, and old ones make room for new ones. */

import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Checkpoint, FileCheckpoints } from "../../src/screen/checkpoints.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

const KIB = 1024;
const END = { seq: 10_000, offset: 10_000 * KIB * KIB };

/** One after so many KiB. */
function after(kib: number): Checkpoint {
	const snapshot = Buffer.from(`screen ${kib}`);
	return { seq: kib, offset: kib * KIB, time: 1_000 + kib, cols: 80, rows: 24, snapshot };
}

async function checkpoints() {
	const file = join(await temporaryDirectory(), "screens");
	return { file, kept: new FileCheckpoints(file) };
}

it("the nearest before a place or a moment is found, also by somebody else", async () => {
	const { file, kept } = await checkpoints();
	for (const kib of [1, 5, 9]) await kept.add(after(kib));
	const others = new FileCheckpoints(file);
	expect(await others.nearest({ offset: 8 * KIB }, END)).toEqual(after(5));
	expect(await others.nearest({ time: 1_009 }, END)).toEqual(after(9));
	expect(await others.nearest({ offset: KIB - 1 }, END)).toBeUndefined();
	// Of a log that is shorter, they are of another.
	expect(await others.nearest({ offset: 9 * KIB }, { seq: 6, offset: 6 * KIB })).toEqual(after(5));
});

it("one that is damaged is passed over for the one before it", async () => {
	const { file, kept } = await checkpoints();
	await kept.add(after(1));
	const [line = ""] = (await readFile(file, "latin1")).trim().split("\n");
	await appendFile(file, `${line.replace('"seq":1,"offset":1024', '"seq":2,"offset":2048')}\n`);
	expect(await kept.nearest(END, END)).toEqual(after(1));
});

it("of many, the newest stay, and of older ones some at a distance from each other", async () => {
	const { file, kept } = await checkpoints();
	// Enough that the file is written anew once, and only just.
	for (let index = 0; index <= 128; index++) await kept.add(after(index * 256));
	const left = (await readFile(file, "latin1")).split("\n").flatMap((line) => {
		return line === "" ? [] : [(JSON.parse(line) as { offset: number }).offset / KIB];
	});
	expect(left.slice(-16)).toEqual(Array.from({ length: 16 }, (_, index) => (113 + index) * 256));
	const older = left.slice(0, -16);
	expect(older[0]).toBeLessThanOrEqual(1024);
	for (const [index, kib] of older.slice(1).entries()) expect(kib - (older[index] ?? 0)).toBe(1024);
});
