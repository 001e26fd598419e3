/** Kills the server repeatedly while bytes pass through it in both directions. */

import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { EchoStream, randomOf } from "../../test/system/torture/support/echo-stream.ts";
import type { Case, Sample } from "../case.ts";
import { sweep } from "../homes.ts";
import { TortureServer } from "../torture-server.ts";
import type { Workshop } from "../workshop.ts";

const KILLS = { full: 300, quick: 20 };
/** A stream without progress for this long has failed, and reports that at the end. */
const STUCK_MS = 60_000;
/** Half of the kills, in groups of eight, come at these points; the others at random times. */
const POINTS = ["input.received", "input.accepted", "output.delivered", "adopt.connected"];

export function tortureCase(isQuick: boolean): Case {
	const kills = isQuick ? KILLS.quick : KILLS.full;
	return {
		name: "torture",
		title: "SIGKILL of the server under traffic",
		note: "random bytes to a raw `cat` in a keeper and back over HTTP, every byte compared; half of the kills at named points of the code, half at random; repeat one with SEED=n",
		rounds: { full: 1, quick: 1 },
		metrics: [
			{ key: "kills", title: "kills", digits: 0 },
			{ key: "sent", title: "bytes sent", digits: 0 },
			{ key: "received", title: "bytes received", digits: 0 },
			{ key: "lost", title: "lost", digits: 0 },
			{ key: "seconds", title: "seconds", digits: 0 },
			{ key: "seed", title: "seed", digits: 0 },
		],
		bars: [
			{ title: "bytes lost", value: (round) => round("server", "lost"), digits: 0, atMost: 0, isStrict: true },
			{ title: "kills", value: (round) => round("server", "kills"), digits: 0, atLeast: kills, isStrict: true },
		],
		variants: [{ name: "server", measure: (workshop) => torture(workshop, kills) }],
	};
}

async function torture(workshop: Workshop, kills: number): Promise<Sample> {
	const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
	const random = randomOf(seed);
	const begin = performance.now();
	const directory = workshop.newSite();
	const server = new TortureServer(directory);
	try {
		await server.start();
		const token = await server.token();
		const echo = new EchoStream(() => ({ url: server.url, token }), random);
		await echo.start();
		for (let kill = 0; kill < kills; kill++) {
			if (kill % 20 === 0) workshop.say(`torture: ${kill} of ${kills} kills, seed ${seed}`);
			const point = POINTS[kill % (2 * POINTS.length)];
			await server.kill();
			if (point === undefined) {
				await server.start();
				const target = echo.received + random(256 * 1024);
				const traffic = (async () => {
					while (echo.received < target && !server.isDead) await turn();
				})();
				await orFailed(traffic, echo);
			} else {
				await server.start({ crashAt: point, crashAfter: point === "adopt.connected" ? 1 : 1 + random(20) });
				await orFailed(server.dead(), echo);
			}
		}
		await server.kill();
		await server.start();
		// Throws at the first byte that is missing, doubled or out of place.
		await orFailed(echo.finish(), echo);
		const { sent, received } = echo;
		return { kills, sent, received, lost: sent - received, seconds: (performance.now() - begin) / 1000, seed };
	} finally {
		await server.kill();
		await sweep(directory);
	}
}

/** Waits for what comes only if the stream goes on; the end of the server ends what is waited for. */
async function orFailed(waiting: Promise<void>, echo: EchoStream): Promise<void> {
	const stuck = new AbortController();
	const timer = sleep(STUCK_MS, "stuck", { signal: stuck.signal }).catch(() => "done");
	const first = await Promise.race([waiting, timer]);
	stuck.abort();
	if (first !== "stuck") return;
	await Promise.race([echo.finish(), sleep(1000)]);
	throw new Error(`the stream stood still for ${STUCK_MS} ms at ${echo.received} of ${echo.sent} bytes`);
}
