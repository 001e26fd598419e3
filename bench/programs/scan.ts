/** Reads a flood of output from a terminal, and then scans the same bytes alone: what part of the flood's cost the scan is. */

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

/** The pieces as they came, which is how the session scanned them. */
async function receive(bytes: number): Promise<readonly Uint8Array[]> {
	const pieces: Uint8Array[] = [];
	for (let received = 0; received < bytes; ) {
		const { value: item } = await items.next();
		if (item?.kind !== "output") throw new Error(`${item?.kind ?? "the end"} after ${received} bytes of ${bytes}`);
		received += item.bytes.byteLength;
		pieces.push(item.bytes);
	}
	return pieces;
}

async function flood(): Promise<{ readonly pieces: readonly Uint8Array[]; readonly cpu: number }> {
	const before = cpuSeconds("self");
	await session.act({ kind: "write", bytes: Buffer.from("\n") });
	const pieces = await receive(input.bytes);
	await sleep(AFTERMATH_MS);
	return { pieces, cpu: cpuSeconds("self") - before };
}

function scanAlone(pieces: readonly Uint8Array[]): number {
	const scan = new Scan(undefined, { skim });
	const before = cpuSeconds("self");
	for (const piece of pieces) scan.feed(piece);
	return cpuSeconds("self") - before;
}

await receive(1);
let flooded = 0;
let scanned = 0;
for (let turn = -input.warmUpTurns; turn < input.turns; turn++) {
	const { pieces, cpu } = await flood();
	const alone = scanAlone(pieces);
	if (turn < 0) continue;
	flooded += cpu;
	scanned += alone;
}
await items.return?.();
await home.close();
const gigabytes = (input.turns * input.bytes) / 1e9;
finish({ flood: flooded / gigabytes, scan: scanned / gigabytes, share: (100 * scanned) / flooded });
