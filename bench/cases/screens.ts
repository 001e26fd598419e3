/** What the screens of many full-screen programs cost: followed, attached to, or seen by nobody. */

import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../../src/client/index.ts";
import type { Case, Round, Sample } from "../case.ts";
import { cpuSeconds, memoryOf } from "../processes.ts";
import { type Served, serving } from "../served.ts";
import type { Workshop } from "../workshop.ts";

const SESSIONS = { full: 100, quick: 20 };
const MEASURED_MS = { full: 10_000, quick: 3_000 };
/** Every row in a colour, twice a second and in one write each. The shell itself waits, so that nothing is started for that. */
const DRAWING = `printf '\\033[?1049h'; i=0; while :; do
	printf -v frame '\\033[H\\033[7m frame %d \\033[m' $((i += 1))
	for row in {2..24}; do printf -v line '\\033[%d;1H\\033[3%dm%060d\\033[m' $row $((row % 8)) $i; frame+=$line; done
	printf %s "$frame"
	read -r -t 0.5
done`;
/** Of the server for each session, in MiB: its model, which has 240 KB of cells, a mirror of its log, and its viewer. */
const SESSION_MIB = 1.5;

/** What somebody does with one of the sessions until the signal; calls back for each screen, or piece of one. */
type Watch = (server: Served, id: string, seen: () => void, over: AbortSignal) => Promise<void>;

/** How each is watched, and what of one processor that may take, in ms for each second of one session. */
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
		note: `programs in keepers draw all of the alternate screen twice a second: one who follows its screen over HTTP for each, one who is attached from its screen on, or nobody. What the server has and uses more than before them, the thread of the models included`,
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
		// Every model is made by then.
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
