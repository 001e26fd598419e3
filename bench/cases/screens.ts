/** What full-screen programs cost whose screens are watched, and how long it takes until one is seen after much output. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Case, Sample } from "../case.ts";
import { cpuSeconds, memoryOf } from "../processes.ts";
import { type Served, serving } from "../served.ts";
import { percentile } from "../statistics.ts";
import type { Workshop } from "../workshop.ts";

const SESSIONS = { full: 100, quick: 20 };
const MEASURED_MS = { full: 5_000, quick: 2_000 };
/** Beneath what a journal keeps. */
const WRITTEN_MEGABYTES = 60;
const LOOKS = 20;
const MOST_MS = 30;
/** Draws a row of the alternate screen ten times a second, as a program does that shows how things stand. */
const DRAWING =
	"printf '\\033[?1049h\\033[2J'; i=0; while :; do i=$((i+1)); printf '\\033[%d;1Hrow %d' $((i%24+1)) $i; sleep 0.1; done";
const SETTLED = "printf '\\033[?1049h\\033[2J\\033[Hall of it'; exec sleep 1000";

export function screensCase(isQuick: boolean): Case {
	const sessions = isQuick ? SESSIONS.quick : SESSIONS.full;
	const measuredMs = isQuick ? MEASURED_MS.quick : MEASURED_MS.full;
	return {
		name: "screens",
		title: "Screens of full-screen programs",
		note: `${sessions} programs draw on the alternate screen ten times a second, each with one who follows its screen over HTTP: the server's CPU and memory, thread of the models included. Then a screen after ${WRITTEN_MEGABYTES} MB of output on a terminal: the first that anybody asks for, and the median of ${LOOKS} after more output`,
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "cpu", title: "CPU %", digits: 0 },
			{ key: "memory", title: "MB", digits: 0 },
			{ key: "seen", title: "screens/s for each", digits: 1 },
			{ key: "first", title: "first ms", digits: 1 },
			{ key: "later", title: "p50 ms", digits: 1 },
		],
		bars: [
			{
				title: "a screen after 60 MB, p50 ms",
				value: (round) => round("much output", "later"),
				digits: 1,
				atMost: MOST_MS,
			},
		],
		variants: [
			{ name: "many viewers", measure: (workshop) => watched(workshop, sessions, measuredMs) },
			{ name: "much output", measure: afterMuch },
		],
	};
}

function watched(workshop: Workshop, count: number, measuredMs: number): Promise<Sample> {
	return serving(workshop, async (server) => {
		const over = new AbortController();
		let seen = 0;
		const follow = async () => {
			const { id } = await server.create("keeper", { command: DRAWING });
			return async () => {
				for (let since = 0; !over.signal.aborted; seen++) {
					since = (await server.screen(id, { since: String(since), wait: "1000" })).revision;
				}
			};
		};
		const followers: (() => Promise<void>)[] = [];
		while (followers.length < count) followers.push(await follow());
		const following = followers.map((run) => run());
		// Every model is made by then.
		while (seen < 2 * count) await sleep(50);
		const before = { seen, cpu: cpuSeconds(server.pid), at: performance.now() };
		await sleep(measuredMs);
		const seconds = (performance.now() - before.at) / 1000;
		const cpu = (100 * (cpuSeconds(server.pid) - before.cpu)) / seconds;
		const rate = (seen - before.seen) / seconds / count;
		const memory = memoryOf(server.pid).pss / 1e6;
		over.abort();
		await Promise.all(following);
		return { cpu, memory, seen: rate };
	});
}

function afterMuch(workshop: Workshop): Promise<Sample> {
	return serving(workshop, async (server) => {
		const { path, ttyBytes } = workshop.payload("screens", WRITTEN_MEGABYTES);
		const { id } = await server.create("keeper", { argv: ["/bin/sh", "-c", `cat "$0"; ${SETTLED}`, path] });
		while ((await server.look(id)).offsets.end <= ttyBytes) await sleep(20);
		const first = await look(server, id);
		const later: number[] = [];
		while (later.length < LOOKS) later.push(await look(server, id));
		return { first, later: percentile(later, 0.5) };
	});
}

async function look(server: Served, id: string): Promise<number> {
	const begin = performance.now();
	const { lines } = await server.screen(id, {});
	const ms = performance.now() - begin;
	if (lines?.[0] !== "all of it") throw new Error(`the screen is wrong: ${lines?.[0]}`);
	return ms;
}
