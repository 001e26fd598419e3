/** The SDK over a network that cuts every connection, to a server that is killed meanwhile: nothing may be lost. */

import { setTimeout as sleep } from "node:timers/promises";
import { torture } from "../../test/helpers/sdk-torture.ts";
import type { Case, Sample } from "../case.ts";
import { sweep } from "../homes.ts";
import { TortureServer } from "../torture-server.ts";
import type { Workshop } from "../workshop.ts";

const CUTS = { full: 10_000, quick: 200 };
const KILLS = { full: 60, quick: 4 };
/** Some cuts are found out by time alone; meanwhile the others go on. Each has a server of its own to be killed. */
const LANES = { full: 4, quick: 1 };
/** Longer than any run: one that takes so long stands still. */
const PATIENCE_MS = 600_000;

export function sdkTortureCase(isQuick: boolean): Case {
	const size = isQuick ? "quick" : "full";
	const cuts = CUTS[size];
	return {
		name: "sdk-torture",
		title: "The SDK through broken connections and killed servers",
		note: `random bytes to a raw \`cat\` in a keeper and back over one attachment that reconnects, every byte and every size compared; connections are cut, reset, silenced, delayed or dribbled at random places, and the server is killed at random ones; ${LANES[size]} at a time; repeat one with SEED=n`,
		rounds: { full: 1, quick: 1 },
		metrics: [
			{ key: "cuts", title: "broken connections", digits: 0 },
			{ key: "kills", title: "kills", digits: 0 },
			{ key: "reconnects", title: "reconnects", digits: 0 },
			{ key: "sent", title: "bytes sent", digits: 0 },
			{ key: "received", title: "bytes received", digits: 0 },
			{ key: "lost", title: "lost", digits: 0 },
			{ key: "seconds", title: "seconds", digits: 0 },
			{ key: "seed", title: "seed", digits: 0 },
		],
		bars: [
			{ title: "bytes lost", value: (round) => round("SDK", "lost"), digits: 0, atMost: 0, isStrict: true },
			{
				title: "broken connections",
				value: (round) => round("SDK", "cuts"),
				digits: 0,
				atLeast: cuts,
				isStrict: true,
			},
		],
		variants: [
			{
				name: "SDK",
				measure: (workshop) => tortureAll(workshop, { cuts, kills: KILLS[size], lanes: LANES[size] }),
			},
		],
	};
}

type Extent = { readonly cuts: number; readonly kills: number; readonly lanes: number };

async function tortureAll(workshop: Workshop, { cuts, kills, lanes }: Extent): Promise<Sample> {
	const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
	// Before anything can go wrong, so that it can be played again.
	workshop.say(`sdk-torture: ${cuts} broken connections and ${kills} kills, seed ${seed}`);
	const begin = performance.now();
	const share = { cuts: Math.ceil(cuts / lanes), kills: Math.ceil(kills / lanes) };
	const ends = await Promise.allSettled(
		Array.from({ length: lanes }, (_, lane) => tortureOne(workshop, { ...share, seed: seed + lane })),
	);
	// Only now, when none of the others is left running.
	const parts = ends.map((end) => {
		if (end.status === "rejected") throw end.reason;
		return end.value;
	});
	const sum = (key: string) => parts.reduce((total, part) => total + (part[key] ?? Number.NaN), 0);
	const sums = Object.fromEntries(
		["cuts", "kills", "reconnects", "sent", "received", "lost"].map((key) => [key, sum(key)]),
	);
	return { ...sums, seconds: (performance.now() - begin) / 1000, seed };
}

async function tortureOne(
	workshop: Workshop,
	options: { readonly cuts: number; readonly kills: number; readonly seed: number },
): Promise<Sample> {
	const directory = workshop.newSite();
	const server = new TortureServer(directory);
	const patience = new AbortController();
	try {
		await server.start();
		// It throws at the first byte that is missing, doubled or out of place.
		const { sent, received, faults, kills, reconnects } = await Promise.race([
			torture({ server, ...options }),
			sleep(PATIENCE_MS, undefined, { signal: patience.signal }).then(() => {
				throw new Error(`it stood still, or took more than ${PATIENCE_MS} ms; seed ${options.seed}`);
			}),
		]);
		const cuts = Object.values(faults).reduce((total, count) => total + count, 0);
		return { cuts, kills, reconnects, sent, received, lost: sent - received };
	} finally {
		patience.abort();
		await server.kill();
		await sweep(directory);
	}
}
