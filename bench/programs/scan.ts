/** Reads a flood from a terminal and scans every piece a second time, to measure the scan's share of the cost. */

import { setTimeout as sleep } from "node:timers/promises";
import { Scan } from "../../src/core/terminal/terminal-scan.ts";
import { skim } from "../../src/native/addon.ts";
import { BenchHome } from "../homes.ts";
import { cpuSeconds } from "../processes.ts";
import { finish, readInput } from "./input.ts";

export type ScanInput = {
	/** Output of one turn; `bytes` as they arrive. */
	readonly file: string;
	readonly bytes: number;
	/** Number of measured turns, and of warm-up turns before. */
	readonly turns: number;
	readonly warmUpTurns: number;
};

/** Deferred work counts as part of the turn. */
const AFTERMATH_MS = 50;

const input = readInput<ScanInput>();
const home = await BenchHome.open({ kind: "process", directory: input.directory });
const script = 'stty -echo; printf R; while read go; do cat "$0"; done';
const session = await home.start(["/bin/sh", "-c", script, input.file], { mode: "pty" });
const items = session.follow({ offset: 0 }, { flow: "lossless" })[Symbol.asyncIterator]();

type Turn = { readonly cpu: number; readonly scanned: number };

/**
 * Scans each piece again when it arrives, right after the session itself. The piece is then still in the CPU cache;
 * otherwise fetching it from memory would be most of the cost.
 */
async function receive(bytes: number, scan: Scan): Promise<number> {
	let scanned = 0;
	for (let received = 0; received < bytes; ) {
		const { value: item } = await items.next();
		if (item?.kind !== "output") throw new Error(`${item?.kind ?? "the end"} after ${received} bytes of ${bytes}`);
		received += item.bytes.byteLength;
		const begun = performance.now();
		scan.feed(item.bytes);
		scanned += performance.now() - begun;
	}
	return scanned / 1000;
}

/** The CPU time of a turn without the second scan. */
async function flood(scan: Scan): Promise<Turn> {
	const before = cpuSeconds("self");
	await session.act({ kind: "write", bytes: Buffer.from("\n") });
	const scanned = await receive(input.bytes, scan);
	await sleep(AFTERMATH_MS);
	return { cpu: cpuSeconds("self") - before - scanned, scanned };
}

const again = new Scan(undefined, { skim });
await receive(1, again);
let flooded = 0;
let scanned = 0;
for (let turn = -input.warmUpTurns; turn < input.turns; turn++) {
	const { cpu, scanned: share } = await flood(again);
	if (turn < 0) continue;
	flooded += cpu;
	scanned += share;
}
await items.return?.();
await home.close();
const gigabytes = (input.turns * input.bytes) / 1e9;
finish({ flood: flooded / gigabytes, scan: scanned / gigabytes, share: (100 * scanned) / flooded });
