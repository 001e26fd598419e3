/** Stops and kills the server repeatedly while many sessions ask and end, with one reader of the feed. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { randomOf } from "../../test/system/torture/support/echo-stream.ts";
import { FeedTorture } from "../../test/system/torture/support/feed-torture.ts";
import type { Case, Sample } from "../case.ts";
import { sweep } from "../homes.ts";
import { TortureServer } from "../torture-server.ts";
import type { Workshop } from "../workshop.ts";

const SESSIONS = { full: 100, quick: 20 };
const RESTARTS = { full: 20, quick: 4 };

export function feedCase(isQuick: boolean): Case {
	const size = isQuick ? "quick" : "full";
	return {
		name: "feed",
		title: "restarts of the server before a reader of its events",
		note: "each round answers most of the sessions, stops the server or kills it, and lets some ask on or end while none runs; every event is compared with what happened; repeat one with SEED=n",
		rounds: { full: 1, quick: 1 },
		metrics: [
			{ key: "sessions", title: "sessions at a time", digits: 0 },
			{ key: "restarts", title: "restarts", digits: 0 },
			{ key: "told", title: "events", digits: 0 },
			{ key: "wrong", title: "lost or doubled", digits: 0 },
			{ key: "seconds", title: "seconds", digits: 0 },
			{ key: "seed", title: "seed", digits: 0 },
		],
		bars: [
			{
				title: "events lost or doubled",
				value: (round) => round("server", "wrong"),
				digits: 0,
				atMost: 0,
				isStrict: true,
			},
		],
		variants: [{ name: "server", measure: (workshop) => restart(workshop, SESSIONS[size], RESTARTS[size]) }],
	};
}

async function restart(workshop: Workshop, sessions: number, restarts: number): Promise<Sample> {
	const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
	const begin = performance.now();
	const site = workshop.newSite();
	const server = new TortureServer(site);
	try {
		await server.start();
		const directory = join(site, "gates");
		mkdirSync(directory);
		const torture = await FeedTorture.begin({ server, directory, sessions, random: randomOf(seed) });
		for (let round = 0; round < restarts; round++) {
			workshop.say(`feed: ${round} of ${restarts} restarts, seed ${seed}`);
			await torture.round(round % 2 === 0 ? "kill" : "stop");
		}
		// Throws at the first event that is missing, duplicated or out of order.
		await torture.finish();
		return { sessions, restarts, told: torture.told, wrong: 0, seconds: (performance.now() - begin) / 1000, seed };
	} finally {
		await server.kill();
		await sweep(site);
	}
}
