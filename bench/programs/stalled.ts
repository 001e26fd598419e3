/** A flooding session with an active reader, and readers that stopped reading. */

import { setTimeout as sleep } from "node:timers/promises";
import { BenchHome, type HomeKind } from "../homes.ts";
import { memoryOf } from "../processes.ts";
import { percentile } from "../statistics.ts";
import { finish, readInput } from "./input.ts";
import { startEcho, startFlood } from "./load.ts";

export type StalledInput = {
	readonly home: HomeKind;
	readonly readers: number;
	readonly keys: number;
	readonly file: string;
};

/** More than a reader takes at once, so that no two of them hold the same output. */
const APART_BYTES = 600_000;

const { home: kind, readers, keys, file, directory } = readInput<StalledInput>();
const home = await BenchHome.open({ kind, directory });
const flood = await startFlood(home, "cat", file);
const echo = await startEcho(home);
await flood.received(16_000_000);
globalThis.gc?.();
const rssBefore = memoryOf("self").rss;

const stalled: AsyncIterator<unknown>[] = [];
for (let reader = 0; reader < readers; reader++) {
	const items = flood.session.follow("end", { flow: "live" })[Symbol.asyncIterator]();
	await items.next();
	stalled.push(items);
	await flood.received(flood.bytes + APART_BYTES);
}
await sleep(500);
const rssStalled = readers === 0 ? rssBefore : collected();

flood.longestStall = 0;
const bytesBefore = flood.bytes;
const begin = performance.now();
const times: number[] = [];
for (let key = 0; key < keys; key++) {
	await sleep(2);
	const pressed = performance.now();
	const back = new Promise<void>((resolve) => {
		echo.onBytes = () => resolve();
	});
	await echo.session.act({ kind: "write", bytes: Uint8Array.of(97) });
	await back;
	times.push(performance.now() - pressed);
}
const rate = (flood.bytes - bytesBefore) / 1e3 / (performance.now() - begin);
const { longestStall } = flood;
const rssAfter = collected();
await home.close();
finish({
	rate,
	longestStall,
	p50: 1000 * percentile(times, 0.5),
	p99: 1000 * percentile(times, 0.99),
	grown: (rssStalled - rssBefore) / 2 ** 20,
	// Growth with time, rather than with their number, is a leak.
	leaked: (rssAfter - rssStalled) / 2 ** 20,
	readers: stalled.length,
});

function collected(): number {
	globalThis.gc?.();
	return memoryOf("self").rss;
}
