/** One flooding terminal with many live viewers: their total throughput, compared with that of one viewer. */

import { setTimeout as sleep } from "node:timers/promises";
import { offsetsOf } from "../../src/client/index.ts";
import { type Case, ratio, type Sample, type Variant } from "../case.ts";
import type { HomeKind } from "../homes.ts";
import { serving } from "../served.ts";
import type { Workshop } from "../workshop.ts";
import { Client, floodArgv } from "../ws-client.ts";

const VIEWERS = 50;
const MEASURED_MS = { full: 3000, quick: 1000 };
const FLOOD_MEGABYTES = 16;
/** A good part of a second for each viewer, enough to compile hot code. */
const WARM_UP_BYTES = 24_000_000;
const MIN_RATIO = 3;
/** Largest share of the program's output that viewers skip, in percent. */
const MOST_SKIPPED = 15;

export function socketViewersCase(isQuick: boolean): Case {
	const measuredMs = isQuick ? MEASURED_MS.quick : MEASURED_MS.full;
	const watched = (home: HomeKind, viewers: number): Variant => ({
		name: nameOf(home, viewers),
		measure: (workshop) => measure(workshop, { home, viewers, measuredMs }),
	});
	const homes: readonly HomeKind[] = ["process", "keeper"];
	return {
		name: "socket-viewers",
		title: `One flooding terminal, 1 to ${VIEWERS} live viewers`,
		note: "`cat` in a loop on a cooked terminal; all viewers are one C process with a connection for each; CPU of the server, and of the keeper where there is one, per GB sent",
		rounds: { full: 2, quick: 1 },
		metrics: [
			{ key: "rate", title: "all together MB/s", digits: 1 },
			{ key: "slowest", title: "slowest viewer MB/s", digits: 1 },
			{ key: "skipped", title: "skipped %", digits: 1 },
			{ key: "cpu", title: "CPU s/GB", digits: 2 },
		],
		bars: [
			...homes.map((home) => ({
				title: `${nameOf(home, VIEWERS)}, bytes to those of one`,
				value: ratio("rate", nameOf(home, VIEWERS), nameOf(home, 1)),
				digits: 2,
				atLeast: MIN_RATIO,
			})),
			{
				title: `${nameOf("keeper", VIEWERS)}, skipped %`,
				value: (round) => round(nameOf("keeper", VIEWERS), "skipped"),
				digits: 1,
				atMost: MOST_SKIPPED,
			},
		],
		variants: homes.flatMap((home) => [watched(home, 1), watched(home, VIEWERS)]),
	};
}

function nameOf(home: HomeKind, viewers: number): string {
	return `${home === "process" ? "in process" : home}, ${viewers}`;
}

type Watching = { readonly home: HomeKind; readonly viewers: number; readonly measuredMs: number };

function measure(workshop: Workshop, { home, viewers, measuredMs }: Watching): Promise<Sample> {
	return serving(workshop, async (server) => {
		const file = workshop.payload("flood", FLOOD_MEGABYTES).path;
		const { id, target, pids } = await server.create(home, { argv: floodArgv("cat", file) });
		const client = new Client(workshop, target, ["watch", viewers, WARM_UP_BYTES, ...pids]);
		try {
			await client.said();
			const before = offsetsOf(await server.look(id)).end;
			await sleep(measuredMs);
			const written = offsetsOf(await server.look(id)).end - before;
			const { bytes = 0, seconds = 1, cpu = 0, slowest = 0 } = await client.finish();
			return {
				rate: bytes / 1e6 / seconds,
				slowest: slowest / 1e6 / seconds,
				skipped: 100 * Math.max(0, 1 - bytes / viewers / written),
				cpu: cpu / (bytes / 1e9),
			};
		} finally {
			await client.stop();
		}
	});
}
