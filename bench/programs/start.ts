/** Starts `echo hi` repeatedly and measures the time to its first byte. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { BenchHome, type HomeKind } from "../homes.ts";
import { percentile } from "../statistics.ts";
import { finish, readInput } from "./input.ts";

export type StartInput = {
	readonly home: HomeKind;
	readonly journal: boolean;
	readonly spares: number;
	readonly runs: number;
};

const { home: kind, journal, spares, runs, directory } = readInput<StartInput>();
const home = await BenchHome.open({ kind, directory, journal, spares });
const times: number[] = [];
for (let run = 0; run < runs; run++) {
	if (spares > 0) await spareIsReady();
	const begin = performance.now();
	const session = await home.start(["/bin/echo", "hi"]);
	for await (const item of session.follow({ offset: 0 })) {
		if (item.kind !== "output") throw new Error(`${item.kind} instead of output`);
		times.push(performance.now() - begin);
		break;
	}
	await home.end(session);
}
await home.close();
finish({ p50: percentile(times, 0.5), p99: percentile(times, 0.99), max: Math.max(...times) });

/** Only its socket is visible from here. The rest of the start is one handshake. */
async function spareIsReady(): Promise<void> {
	const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
	while (!readdirSync(join(directory, "run")).some((name) => name.endsWith(".sock"))) await sleep(5);
	await sleep(100);
}
