/** The cost of screens of many full-screen programs: followed, attached to, or without viewers. */

import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../../src/client/index.ts";
import type { Case, Round, Sample } from "../case.ts";
import { cpuSeconds, memoryOf } from "../processes.ts";
import { type Served, serving } from "../served.ts";
import type { Workshop } from "../workshop.ts";

const SESSIONS = { full: 100, quick: 20 };
const MEASURED_MS = { full: 10_000, quick: 3_000 };
/** Redraws every row in color, twice a second with one write each. The shell itself sleeps, so no process is started for that. */
const DRAWING = `printf '\\033[?1049h'; i=0; while :; do
	printf -v frame '\\033[H\\033[7m frame %d \\033[m' $((i += 1))
	for row in {2..24}; do printf -v line '\\033[%d;1H\\033[3%dm%060d\\033[m' $row $((row % 8)) $i; frame+=$line; done
	printf %s "$frame"
	read -r -t 0.5
done`;
/** Server memory per session in MiB: the model with 240 KB of cells, the keeper's mirrored tail, and the viewer. */
const SESSION_MIB = 1.5;

/** Watches a session until the signal aborts, and calls back for each screen or piece of one. */
type Watch = (server: Served, id: string, seen: () => void, over: AbortSignal) => Promise<void>;

/** Kinds of viewers, and CPU limits in ms per second and session. */
const WATCHES: Readonly<Record<string, { readonly watch?: Watch; readonly cpuMs: number }>> = {
	followed: { watch: followed, cpuMs: 10 },
	attached: { watch: attached, cpuMs: 5 },
	unseen: { cpuMs: 0.5 },
};

export function screensCase(isQuick: boolean): Case {
	const sessions = isQuick ? SESSIONS.quick : SESSIONS.full;
	const measuredMs = isQuick ? MEASURED_MS.quick : MEASURED_MS.full;
	const bars = Object.entries(WATCHES).flatMap(([name, { cpuMs }]) => [
		{ title: `${name}, CPU ms/s each`, value: (round: Round) => round(name, "cpu"), digits: 2, atMost: cpuMs },
		{ title: `${name}, MiB each`, value: (round: Round) => round(name, "memory"), digits: 2, atMost: SESSION_MIB },
	]);
	return {
		name: "screens",
		title: `Screens of ${sessions} full-screen programs`,
		note: `programs in keepers draw all of the alternate screen twice a second: each with one HTTP follower, one attachment that begins with the screen, or no viewer. Additional memory and CPU of the server, including the rendering thread`,
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "cpu", title: "CPU ms/s each", digits: 2 },
			{ key: "memory", title: "MiB each", digits: 2 },
			{ key: "seen", title: "screens/s each", digits: 1 },
		],
		bars,
		variants: Object.entries(WATCHES).map(([name, { watch }]) => ({
			name,
			measure: (workshop) => measure(workshop, watch, sessions, measuredMs),
		})),
	};
}

function measure(workshop: Workshop, watch: Watch | undefined, count: number, measuredMs: number): Promise<Sample> {
	return serving(workshop, async (server) => {
		const over = new AbortController();
		const memoryBefore = memoryOf(server.pid).pss;
		let seen = 0;
		const watching: Promise<void>[] = [];
		for (let made = 0; made < count; made++) {
			const { id } = await server.create("keeper", { argv: ["bash", "-c", DRAWING] });
			if (watch) watching.push(watch(server, id, () => seen++, AbortSignal.any([over.signal])));
		}
		// By then, every model exists.
		while (watch && seen < 2 * count) await sleep(50);
		const before = { seen, cpu: cpuSeconds(server.pid), at: performance.now() };
		await sleep(measuredMs);
		const seconds = (performance.now() - before.at) / 1000;
		const cpu = (1000 * (cpuSeconds(server.pid) - before.cpu)) / seconds / count;
		const memory = (memoryOf(server.pid).pss - memoryBefore) / 2 ** 20 / count;
		const rate = (seen - before.seen) / seconds / count;
		over.abort();
		await Promise.all(watching);
		return { cpu, memory, seen: rate };
	});
}

async function followed(server: Served, id: string, seen: () => void, over: AbortSignal): Promise<void> {
	for (let since = 0; !over.aborted; seen()) {
		since = (await server.screen(id, { since: String(since), wait: "1000" })).revision;
	}
}

async function attached({ target }: Served, id: string, seen: () => void, over: AbortSignal): Promise<void> {
	const client = connect({ url: `http://127.0.0.1:${target.port}`, token: target.token });
	const session = await client.sessions.get(id);
	try {
		for await (const _ of session.attach({ role: "viewer", from: "screen", signal: over })) seen();
	} catch (error) {
		if (!over.aborted) throw error;
	}
}
