/** Time that starting a program blocks the event loop of a process with a large heap. */

import { spawn } from "../../src/backends/spawn.ts";
import { startOf } from "../../test/support/starts.ts";
import { percentile } from "../statistics.ts";
import { finish, readInput } from "./input.ts";

export type BlockInput = { readonly megabytes: number; readonly runs: number };

const { megabytes, runs } = readInput<BlockInput>();
const ballast = { objects: [] as unknown[], buffers: [] as Uint8Array[] };
const start = process.memoryUsage();
const grown = (kind: "heapUsed" | "arrayBuffers") => (process.memoryUsage()[kind] - start[kind]) / 1e6;
// Half objects, like records and events, and half bytes, like retained output; all of it in use.
while (megabytes > 0 && grown("heapUsed") < megabytes / 2) {
	for (let i = 0; i < 10_000; i++) ballast.objects.push({ seq: i, name: `object ${i}`, values: [i, i + 1, i + 2] });
}
while (megabytes > 0 && grown("arrayBuffers") < megabytes / 2) ballast.buffers.push(new Uint8Array(64 * 1024).fill(1));

const times: number[] = [];
for (let run = -10; run < runs; run++) {
	let close = () => {};
	const closed = new Promise<void>((resolve) => {
		close = resolve;
	});
	const { command } = startOf(["/bin/true"]);
	const begin = performance.now();
	// The synchronous part before the first promise is what blocks other work.
	const running = spawn(command, (fact) => {
		if (fact.kind === "closed") close();
	});
	const blocked = performance.now() - begin;
	if (run >= 0) times.push(blocked);
	await running;
	await closed;
}
finish({
	p50: percentile(times, 0.5),
	p99: percentile(times, 0.99),
	max: Math.max(...times),
	ballast: ballast.objects.length + ballast.buffers.length,
});
