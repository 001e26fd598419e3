/** Reads a flood of output from a terminal, and scans every piece of it once more: what part of the flood's cost a scan is. */

import { setTimeout as sleep } from "node:timers/promises";
import { Scan } from "../../src/core/scan.ts";
import { skim } from "../../src/native/addon.ts";
import { BenchHome } from "../homes.ts";
import { cpuSeconds } from "../processes.ts";
import { finish, readInput } from "./input.ts";

export type ScanInput = {
	/** What is printed in one turn; `bytes` as they arrive. */
	readonly file: string;
	readonly bytes: number;
	/** How often, and how often before that without being measured. */
	readonly turns: number;
	readonly warmUpTurns: number;
};

/** What a turn put off belongs to its cost. */
const AFTERMATH_MS = 50;

const input = readInput<ScanInput>();
const home = await BenchHome.open({ kind: "process", directory: input.directory });
const script = 'stty -echo; printf R; while read go; do cat "$0"; done';
const session = await home.start(["/bin/sh", "-c", script, input.file], { mode: "pty" });
const items = session.follow({ offset: 0 }, { flow: "lossless" })[Symbol.asyncIterator]();

type Turn = { readonly cpu: number; readonly scanned: number };

/**
 * Scans each piece once more as it comes, as the session itself has just done: what was read from the kernel a moment
 * ago is in the processor's cache, and fetching it from memory again would be most of the cost.
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

/** The CPU of a turn is that without the second scan. */
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
