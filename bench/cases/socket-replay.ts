/** Time for a returning client to get the last mebibyte, from the connect to its last byte. */

import { setTimeout as sleep } from "node:timers/promises";
import { offsetsOf } from "../../src/client/index.ts";
import type { Case, Sample, Variant } from "../case.ts";
import type { HomeKind } from "../homes.ts";
import { type Served, serving } from "../served.ts";
import type { Workshop } from "../workshop.ts";
import { measured } from "../ws-client.ts";

const BACK_BYTES = 1024 * 1024;
const RUNS = { full: 200, quick: 50 };
/** Some output was already dropped, as in a long-running session. */
const WRITTEN_MEGABYTES = 4;
/** More than needed, because whole segments are dropped. */
const RETAIN = { memoryBytes: 2 * BACK_BYTES };
const P50_MS = 3;

export function socketReplayCase(isQuick: boolean): Case {
	const runs = isQuick ? RUNS.quick : RUNS.full;
	const variant = (name: string, home: HomeKind): Variant => ({
		name,
		measure: (workshop) => measure(workshop, home, runs),
	});
	return {
		name: "socket-replay",
		title: "Coming back: the last 1 MiB over a new WebSocket",
		note: `${runs} times one after the other, with the TCP and WebSocket handshakes, after 30 that do not count; from memory in process, through the keeper otherwise`,
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "p50", title: "p50 ms", digits: 2 },
			{ key: "p99", title: "p99 ms", digits: 2 },
			{ key: "max", title: "max ms", digits: 2 },
		],
		bars: [{ title: "in process, p50 ms", value: (round) => round("in process", "p50"), digits: 2, atMost: P50_MS }],
		variants: [variant("in process", "process"), variant("keeper", "keeper")],
	};
}

function measure(workshop: Workshop, home: HomeKind, runs: number): Promise<Sample> {
	return serving(workshop, async (server) => {
		const { path, ttyBytes: end } = workshop.payload("replay", WRITTEN_MEGABYTES);
		const argv = ["/bin/sh", "-c", 'cat "$0"; exec sleep 1000', path];
		const { id, target } = await server.create(home, { argv, retain: RETAIN });
		await written(server, id, end);
		const { p50 = 0, p99 = 0, max = 0 } = await measured(workshop, target, ["replay", end, BACK_BYTES, runs]);
		return { p50: p50 / 1000, p99: p99 / 1000, max: max / 1000 };
	});
}

async function written(server: Served, id: string, end: number): Promise<void> {
	while (offsetsOf(await server.look(id)).end < end) await sleep(20);
}
