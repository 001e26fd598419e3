/** A short program's output is complete, however busy the loop is. */

import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { spawn } from "../../src/backends/spawn.ts";
import { Run } from "../support/run-program.ts";

const folder = mkdtempSync(join(tmpdir(), "hawser-drain-"));
const file = join(folder, "bytes");
const runs = 500;
const atOnce = 10;
const payload = Buffer.alloc(1_000_000);

beforeAll(() => {
	// Each position differs from its neighbors, so that a missing piece in the middle is noticed.
	for (let at = 0; at + 4 <= payload.byteLength; at += 4) payload.writeUInt32LE((at * 2_654_435_761) % 2 ** 32, at);
	writeFileSync(file, payload);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** From 4 KB to 1 MB, mostly small, never round numbers. */
const sizeOf = (index: number) => Math.floor(4_000 * 250 ** (((index * 617) % 1000) / 1000)) + (index % 7);

function digest(bytes: Uint8Array): string {
	return createHash("sha1").update(bytes).digest("hex");
}

/** Keeps the loop busy with tasks of a few milliseconds until stopped. */
function keepBusy(): () => void {
	let isStopped = false;
	const work = () => {
		if (isStopped) return;
		const end = performance.now() + 2;
		while (performance.now() < end);
		setImmediate(work);
	};
	work();
	return () => {
		isStopped = true;
	};
}

describe.each(["pty", "pipe"] as const)("on a %s", (mode) => {
	test.each(["idle", "busy"])(
		`${runs} short programs lose nothing with an %s loop`,
		async (loop) => {
			const stop = loop === "busy" ? keepBusy() : () => {};
			const damaged: string[] = [];
			let next = 0;
			const worker = async () => {
				for (let index = next++; index < runs; index = next++) {
					const size = sizeOf(index);
					const script = mode === "pty" ? `stty raw; exec head -c ${size} ${file}` : `exec head -c ${size} ${file}`;
					const run = await (await Run.start(spawn, ["sh", "-c", script], { mode, drainMs: 10_000 })).closed();
					const bytes = run.bytes();
					if (digest(bytes) !== digest(payload.subarray(0, size)))
						damaged.push(`${size}: ${bytes.byteLength} ${JSON.stringify(run.exit)}`);
				}
			};
			await Promise.all(Array.from({ length: atOnce }, worker));
			stop();
			expect(damaged).toEqual([]);
		},
		60_000,
	);
});
