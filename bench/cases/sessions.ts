/** Rate of creating idle sessions one after another, and server memory per session. */

import { type Case, ratio, type Sample, type Variant } from "../case.ts";
import { memoryOf } from "../processes.ts";
import { serving } from "../served.ts";
import { ttyd, ttydVariant, withTtyd } from "../ttyd.ts";
import type { Workshop } from "../workshop.ts";
import { Client, measured, type Target } from "../ws-client.ts";

const SESSIONS = { full: 500, quick: 50 };
const PROGRAM = ["sleep", "1000"];
const BODY = JSON.stringify({ argv: PROGRAM, durable: false });
/** The first sessions load code and start threads that all others share. */
const WARM_UP_SESSIONS = 10;
const MIN_RATIO = 1.5;

export function sessionsCase(isQuick: boolean): Case {
	const count = isQuick ? SESSIONS.quick : SESSIONS.full;
	const ours = (name: string, isWatched: boolean): Variant => ({
		name,
		measure: (workshop) => serving(workshop, ({ pid, target }) => open(workshop, { pid, target, count, isWatched })),
	});
	return {
		name: "sessions",
		title: `${count} idle sessions, one after the other`,
		note: "`sleep` on a terminal, in process: over one HTTP connection, and each with a WebSocket of its own that has been welcomed, as every session of ttyd has one; growth of the server's memory with garbage and all",
		rounds: { full: 2, quick: 1 },
		metrics: [
			{ key: "rate", title: "sessions/s", digits: 0 },
			{ key: "p50", title: "p50 ms", digits: 2 },
			{ key: "p99", title: "p99 ms", digits: 2 },
			{ key: "rss", title: "RSS per session, KiB", digits: 1 },
			{ key: "pss", title: "PSS per session, KiB", digits: 1 },
			{ key: "base", title: "RSS before, MiB", digits: 1 },
		],
		bars: withTtyd([
			{ title: "sessions/s to ttyd", value: ratio("rate", "over HTTP", "ttyd"), digits: 2, atLeast: MIN_RATIO },
		]),
		variants: [
			ours("over HTTP", false),
			ours("over HTTP, and attached", true),
			...ttydVariant("ttyd", (workshop) =>
				ttyd(PROGRAM, ({ pid, target }) => open(workshop, { pid, target, count, isWatched: true })),
			),
		],
	};
}

type Opening = {
	readonly pid: number;
	readonly target: Target;
	readonly count: number;
	readonly isWatched: boolean;
};

async function open(workshop: Workshop, { pid, target, count, isWatched }: Opening): Promise<Sample> {
	const watch = isWatched ? 1 : 0;
	await measured(workshop, target, ["create", WARM_UP_SESSIONS, BODY, watch]);
	const before = memoryOf(pid);
	const client = new Client(workshop, target, ["create", count, BODY, watch]);
	try {
		// It prints its results, and keeps its connections open until memory is measured.
		await client.said();
		const after = memoryOf(pid);
		const { p50 = 0, p99 = 0, seconds = 1 } = await client.finish();
		return {
			rate: count / seconds,
			p50: p50 / 1000,
			p99: p99 / 1000,
			rss: (after.rss - before.rss) / 1024 / count,
			pss: (after.pss - before.pss) / 1024 / count,
			base: before.rss / 2 ** 20,
		};
	} finally {
		await client.stop();
	}
}
