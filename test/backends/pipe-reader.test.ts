/** Cutting output into chunks. */

import { closeSync, writeSync } from "node:fs";
import { expect, test } from "vitest";
import { PipeReader } from "../../src/backends/pipe-reader.ts";
import { systemClock } from "../../src/backends/system-clock.ts";
import { startProgram } from "../support/programs.ts";
import { eventually } from "../support/run-program.ts";

/** A reader of a pipe that the test writes to through an echoing program. */
async function open() {
	const { input, output, error } = await startProgram(["cat"], { stdio: "pipe" });
	closeSync(error);
	const chunks: Uint8Array[] = [];
	let isEnded = false;
	const reader = new PipeReader(output, {
		clock: systemClock,
		stream: "stdout",
		report: (fact) => {
			if (fact.kind === "output") chunks.push(fact.bytes);
		},
		onEnd: () => {
			isEnded = true;
		},
	});
	const length = () => chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
	return { input, reader, chunks, length, isEnded: () => isEnded };
}

const text = (chunks: Uint8Array[]) => Buffer.concat(chunks).toString("latin1");

test("small output is reported as it arrives, from one small segment, and not changed afterwards", async () => {
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

test("large output becomes few chunks in growing segments, complete and in order", async () => {
	const { input, chunks, length, isEnded } = await open();
	const piece = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 251));
	for (let i = 0; i < 3000; i++) {
		try {
			writeSync(input, piece);
		} catch {
			// The pipe is full until the loop turns.
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

test("output waiting for its window is reported before the end", async () => {
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

test("nothing is read between a pause and the next resume, even within one turn", async () => {
	const { input, reader, chunks, length, isEnded } = await open();
	reader.pause();
	reader.resume();
	reader.pause();
	writeSync(input, "hidden");
	// Written later and read by the same loop: once this arrives, the other would have arrived too.
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
