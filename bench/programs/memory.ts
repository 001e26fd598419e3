/** Memory of idle shells, in this process or in keepers. Run with --expose-gc, so that garbage does not count. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Session } from "../../src/core/session/session.ts";
import { BenchHome, type HomeKind } from "../homes.ts";
import { type Memory, memoryOf } from "../processes.ts";
import { finish, readInput } from "./input.ts";

export type MemoryInput = { readonly home: HomeKind; readonly journal: boolean; readonly sessions: number };

/** A keeper collects garbage when it is idle, which may take this long. */
const SETTLE_MS = 3_000;
const AT_A_TIME = 4;

const { home: kind, journal, sessions: count, directory } = readInput<MemoryInput>();
const home = await BenchHome.open({ kind, directory, journal });
// The first session loads code and starts threads that all others share.
await home.end(await startIdle());
const before = await settled();
const liveBefore = liveBytes();
const sessions: Session[] = [];
let started = 0;
await Promise.all(
	Array.from({ length: AT_A_TIME }, async () => {
		while (started < count) {
			started++;
			sessions.push(await startIdle());
		}
	}),
);
if (sessions.length !== count) throw new Error(`${sessions.length} sessions instead of ${count}`);
await sleep(kind === "keeper" ? SETTLE_MS : 0);
const after = await settled();
const live = (liveBytes() - liveBefore) / sessions.length;
const grown = (key: keyof Memory) => (after[key] - before[key]) / sessions.length;

if (kind === "process") {
	await home.close();
	finish({ own: grown("pss"), live });
} else {
	const keepers: Memory[] = [];
	for (const session of sessions) keepers.push(memoryOf(await home.keeperPid(session)));
	const mean = (read: (memory: Memory) => number) =>
		keepers.reduce((sum, each) => sum + read(each), 0) / keepers.length;
	const pss = mean((memory) => memory.pss);
	await home.close();
	finish({
		// Not its PSS, which shrinks when other processes map the same files.
		own: grown("privateDirty"),
		pss,
		privateDirty: mean((memory) => memory.privateDirty),
		rss: mean((memory) => memory.rss),
		// The machine's memory per session. Pages that only the server had before are now shared and count for less.
		marginal: pss + grown("pss"),
	});
}

/** An interactive shell that has printed its prompt. */
async function startIdle(): Promise<Session> {
	const session = await home.start(["/bin/sh"]);
	for await (const item of session.follow({ offset: 0 })) if (item.kind === "output") break;
	return session;
}

/** Memory in use, without V8's reserve. */
function liveBytes(): number {
	const { heapUsed, external } = process.memoryUsage();
	return heapUsed + external;
}

async function settled(): Promise<Memory> {
	for (let i = 0; i < 5; i++) {
		globalThis.gc?.();
		await sleep(50);
	}
	return memoryOf("self");
}
