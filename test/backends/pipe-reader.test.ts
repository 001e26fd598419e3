/** How output is cut into chunks. */

import { closeSync, writeSync } from "node:fs";
import { expect, test } from "vitest";
import { systemClock } from "../../src/backends/clock.ts";
import { PipeReader } from "../../src/backends/pipe-reader.ts";
import { startProgram } from "../helpers/programs.ts";
import { eventually } from "./run.ts";

/** A reader of a pipe that the test itself writes to, through a program that gives it back. */
async function open() {
	const { input, output, error } = await startProgram(["cat"], { stdio: "pipe" });
	closeSync(error);
	const chunks: Uint8Array[] = [];
	let isEnded = false;
	const reader = new PipeReader(output, {
		clock: systemClock,
		onBytes: (bytes) => chunks.push(bytes),
		onEnd: () => {
			isEnded = true;
		},
	});
	const length = () => chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
	return { input, reader, chunks, length, isEnded: () => isEnded };
}

const text = (chunks: Uint8Array[]) => Buffer.concat(chunks).toString("latin1");

test("small output is reported as it comes, from one small segment, and never changed afterwards", async () => {
	const { input, chunks, isEnded } = await open();
	let expected = "";
	for (let i = 0; i < 20; i++) {
		writeSync(input, `line ${i}\n`);
		expected += `line ${i}\n`;
		await eventually(() => text(chunks) === expected);
	}
	expect(chunks.length).toBe(20);
	expect(new Set(chunks.map(({ buffer }) => buffer)).size).toBe(1);
	expect(chunks[0]?.buffer.byteLength).toBe(4096);
	closeSync(input);
	await eventually(isEnded);
});

test("much output becomes few chunks in segments that grow, in order and without a hole", async () => {
	const { input, chunks, length, isEnded } = await open();
	const piece = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 251));
	for (let i = 0; i < 3000; i++) {
		try {
			writeSync(input, piece);
		} catch {
			// Full: the loop must turn before there is room.
			i--;
			await new Promise((resolve) => setImmediate(resolve));
		}
	}
	await eventually(() => length() === 3_000_000);
	expect(text(chunks)).toBe(piece.toString("latin1").repeat(3000));
	expect(chunks.length).toBeLessThan(300);
	expect(Math.max(...chunks.map(({ buffer }) => buffer.byteLength))).toBe(256 * 1024);
	closeSync(input);
	await eventually(isEnded);
});

test("what waits for the end of its window is reported before the end", async () => {
	const { input, reader, chunks, length, isEnded } = await open();
	writeSync(input, Buffer.alloc(30_000, 97));
	await eventually(() => length() > 0);
	reader.finish();
	expect(isEnded()).toBe(true);
	const seen = chunks.length;
	reader.finish();
	reader.pause();
	reader.resume();
	reader.catchUp();
	expect(chunks.length).toBe(seen);
	closeSync(input);
});

test("nothing is read between a pause and the next resume, even if both come in one turn", async () => {
	const { input, reader, chunks, length, isEnded } = await open();
	reader.pause();
	reader.resume();
	reader.pause();
	writeSync(input, "hidden");
	// Written later and read by the same loop: by the time this has come, the other would have, too.
	const other = await open();
	for (let bytes = 1; bytes <= 20; bytes++) {
		writeSync(other.input, "x");
		await eventually(() => other.length() === bytes);
	}
	closeSync(other.input);
	await eventually(other.isEnded);
	expect(chunks).toEqual([]);
	reader.resume();
	await eventually(() => length() === 6);
	closeSync(input);
	await eventually(isEnded);
});
