/** The SDK over a network that cuts every connection, with a server that is repeatedly killed: nothing may be lost. */

import { setTimeout as sleep } from "node:timers/promises";
import { torture } from "../../test/system/torture/support/sdk-torture.ts";
import type { Case, Sample } from "../case.ts";
import { sweep } from "../homes.ts";
import { TortureServer } from "../torture-server.ts";
import type { Workshop } from "../workshop.ts";

const CUTS = { full: 10_000, quick: 200 };
const KILLS = { full: 60, quick: 4 };
/** Some cuts are noticed only by a timeout, so several runs go on in parallel. Each has its own server. */
const LANES = { full: 4, quick: 1 };
/** Longer than any run: one that takes this long is stuck. */
const TIMEOUT_MS = 600_000;

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
	// Printed first, so that a failed run can be repeated.
	workshop.say(`sdk-torture: ${cuts} broken connections and ${kills} kills, seed ${seed}`);
	const begin = performance.now();
	const share = { cuts: Math.ceil(cuts / lanes), kills: Math.ceil(kills / lanes) };
	const ends = await Promise.allSettled(
		Array.from({ length: lanes }, (_, lane) => tortureOne(workshop, { ...share, seed: seed + lane })),
	);
	// Only after all runs have ended.
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
	const timeout = new AbortController();
	try {
		await server.start();
		// It throws at the first byte that is missing, duplicated or out of order.
		const { sent, received, faults, kills, reconnects } = await Promise.race([
			torture({ server, ...options }),
			sleep(TIMEOUT_MS, undefined, { signal: timeout.signal }).then(() => {
				throw new Error(`the run was stuck, or took more than ${TIMEOUT_MS} ms; seed ${options.seed}`);
			}),
		]);
		const cuts = Object.values(faults).reduce((total, count) => total + count, 0);
		return { cuts, kills, reconnects, sent, received, lost: sent - received };
	} finally {
		timeout.abort();
		await server.kill();
		await sweep(directory);
	}
}
