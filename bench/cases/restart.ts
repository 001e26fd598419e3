/** Starts a server with existing sessions: with running keepers, with dead keepers and full journals, and with one stopped keeper. */

import { execFileSync } from "node:child_process";
import type { CreateSession } from "../../src/api/types.ts";
import { offsetsOf } from "../../src/client/index.ts";
import type { Case, Sample, Variant } from "../case.ts";
import { Served } from "../served.ts";
import type { Workshop } from "../workshop.ts";

const SESSIONS = { full: 200, quick: 20 };
/** Enough segments that reading all of them would show. The default would fill the disk. */
const JOURNAL_BYTES = 16 * 1024 * 1024;
const STARTS_AT_A_TIME = 8;
const MOST_ADOPTION_MS = 2_000;
const MOST_LIST_MS = 100;
/** Largest delay of the start, compared with a server without sessions. */
const MOST_DELAY_MS = 250;

export function restartCase(isQuick: boolean): Case {
	const count = isQuick ? SESSIONS.quick : SESSIONS.full;
	const variant = (name: string, measure: (workshop: Workshop) => Promise<Sample>): Variant => ({ name, measure });
	return {
		name: "restart",
		title: `A server that starts and finds ${count} sessions`,
		note: `after a SIGKILL; from its start until it listens, until every session answers, and then one list of all; with the keeper of one stopped, the list again. Dead: all keepers were killed too, each with ${JOURNAL_BYTES / 2 ** 20} MiB of journal that the disk has taken, and answering is being known to be lost`,
		rounds: { full: 2, quick: 1 },
		metrics: [
			{ key: "listening", title: "listens after ms", digits: 0 },
			{ key: "known", title: "all known after ms", digits: 0 },
			{ key: "list", title: "list ms", digits: 1 },
			{ key: "listStopped", title: "list with one stopped ms", digits: 1 },
		],
		bars: [
			{
				title: "all adopted after ms",
				value: (round) => round("living", "known"),
				digits: 0,
				atMost: MOST_ADOPTION_MS,
			},
			{
				title: "a list with one stopped, ms",
				value: (round) => round("living", "listStopped"),
				digits: 1,
				atMost: MOST_LIST_MS,
			},
			{
				title: "dead, later than with none by ms",
				value: (round) => round("dead", "listening") - round("none", "listening"),
				digits: 0,
				atMost: MOST_DELAY_MS,
			},
		],
		variants: [
			variant("none", (workshop) => restarted(workshop, 0, "sleep 1000", "living")),
			variant("living", (workshop) => restarted(workshop, count, "sleep 1000", "living")),
			variant("dead", (workshop) =>
				restarted(workshop, count, `head -c ${JOURNAL_BYTES} /dev/zero; echo; exec sleep 1000`, "dead"),
			),
		],
	};
}

async function restarted(
	workshop: Workshop,
	count: number,
	command: string,
	keepers: "living" | "dead",
): Promise<Sample> {
	let server = await Served.start(workshop);
	try {
		const ids: string[] = [];
		const startSome = async (): Promise<void> => {
			while (ids.length < count) {
				const place = ids.push("") - 1;
				const request: CreateSession = {
					argv: ["/bin/sh", "-c", command],
					mode: "pipe",
					retain: { journalBytes: JOURNAL_BYTES },
				};
				ids[place] = (await server.create("keeper", request)).id;
			}
		};
		await Promise.all(Array.from({ length: STARTS_AT_A_TIME }, startSome));
		if (keepers === "dead") {
			for (const id of ids) while (offsetsOf(await server.look(id)).end < JOURNAL_BYTES);
		}
		const pids = await Promise.all(ids.map((id) => server.keeperPid(id)));
		let began = 0;
		server = await server.crash(workshop, async () => {
			if (keepers === "dead") for (const pid of pids) process.kill(pid, "SIGKILL");
			// Otherwise the server's first write would wait for gigabytes of journals to reach the disk.
			execFileSync("sync");
			began = performance.now();
		});
		const listening = performance.now() - began;
		const isKnown = keepers === "dead" ? isLost : isReached;
		while (!(await server.list()).every(isKnown));
		const known = performance.now() - began;
		const list = await timed(() => server.list());
		const [first] = pids;
		if (keepers === "dead" || first === undefined) return { listening, known, list };
		process.kill(first, "SIGSTOP");
		const listStopped = await timed(() => server.list());
		process.kill(first, "SIGCONT");
		return { listening, known, list, listStopped };
	} finally {
		await server.close();
	}
}

type Listed = Awaited<ReturnType<Served["list"]>>[number];

function isReached({ unreachable, pid }: Listed): boolean {
	return !unreachable && pid !== null;
}

function isLost({ state }: Listed): boolean {
	return state === "lost";
}

async function timed(work: () => Promise<unknown>): Promise<number> {
	const began = performance.now();
	await work();
	return performance.now() - began;
}
