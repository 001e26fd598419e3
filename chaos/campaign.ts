/** One chaos run: a server, some sessions with readers of every kind, and faults of the chosen classes until the time is over. */

import { setMaxListeners } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../src/client/index.ts";
import { type FaultClass, faults, mountDisk, type Scene, unmountDisk } from "./faults.ts";
import { randomOf } from "./random.ts";
import { Server } from "./server.ts";
import { Subject } from "./subject.ts";

export type CampaignOptions = {
	/** The checkout, whose built server is run. */
	readonly root: string;
	readonly seed: number;
	readonly seconds: number;
	readonly sessions: number;
	readonly classes: readonly FaultClass[];
	readonly say?: (sentence: string) => void;
};

export type CampaignResult = {
	readonly faults: Readonly<Partial<Record<FaultClass, number>>>;
	readonly sessions: number;
	/** Output bytes that the programs wrote, that all readers compared, and input bytes that were sent. */
	readonly wrote: number;
	readonly compared: number;
	readonly sent: number;
	/** Broken promises; empty when all were kept. */
	readonly problems: readonly string[];
};

const DISK_BYTES = 256 * 1024 * 1024;
/** Longest pause between two faults. */
const PAUSE_MS = 1_500;
/** Allowed after the last fault for all input and output to arrive. */
const SETTLE_MS = 60_000;
/** Where Debian's libfaketime is, by architecture. */
const FAKETIME = `/usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu/faketime/libfaketimeMT.so.1`;

export async function campaign(options: CampaignOptions): Promise<CampaignResult> {
	const { root, seed, seconds, classes, say = () => {} } = options;
	const random = randomOf(seed);
	const directory = await mkdtemp(join(tmpdir(), "hawser-chaos-"));
	const disk = join(directory, "disk");
	await mkdir(disk);
	await mountDisk(disk, DISK_BYTES);
	const clockFile = join(directory, "clock");
	await writeFile(clockFile, "+0s\n");
	const hasClock = classes.includes("clock");
	const env = {
		LD_PRELOAD: FAKETIME,
		FAKETIME_TIMESTAMP_FILE: clockFile,
		FAKETIME_NO_CACHE: "1",
		DONT_FAKE_MONOTONIC: "1",
	};
	const server = new Server({ root, stateDir: join(disk, "state"), env: hasClock ? env : {} });
	const gaveUp = new AbortController();
	setMaxListeners(0, gaveUp.signal);
	const subjects: Subject[] = [];
	const counts: Partial<Record<FaultClass, number>> = {};
	try {
		await server.start();
		const token = await server.token();
		const client = connect({ url: server.url, token });
		const add = async () => {
			const number = subjects.length;
			const mode = number % 2 === 0 ? "pty" : "pipe";
			const folder = join(directory, `session-${number}`);
			const own = randomOf(seed + 1 + number);
			const site = { root, directory: folder, mode, random: own, signal: gaveUp.signal } as const;
			subjects.push(await Subject.start({ client, url: server.url, token, ...site }));
		};
		for (let number = 0; number < options.sessions; number++) await add();
		const scene: Scene = {
			server,
			random,
			disk,
			clockFile,
			living: () => subjects.filter(({ isKeeperKilled }) => !isKeeperKilled),
			add,
		};
		const endAt = performance.now() + seconds * 1_000;
		while (performance.now() < endAt) {
			await sleep(random.below(PAUSE_MS));
			const fault = random.oneOf(classes);
			say(`${fault}, ${subjects.length} sessions`);
			counts[fault] = (counts[fault] ?? 0) + 1;
			await faults[fault](scene);
		}
		say("faults are over; every reader goes on to the end");
		const settled = new AbortController();
		const late = sleep(SETTLE_MS, undefined, { signal: settled.signal }).catch(() => {});
		await Promise.race([Promise.all(subjects.map((subject) => subject.finish())), late]);
		settled.abort();
		gaveUp.abort();
		const sums = subjects.map(({ counts: one }) => one);
		return {
			faults: counts,
			sessions: subjects.length,
			wrote: sums.reduce((sum, { wrote }) => sum + wrote, 0),
			compared: sums.reduce((sum, { compared }) => sum + compared, 0),
			sent: sums.reduce((sum, { sent }) => sum + sent, 0),
			problems: [...subjects.flatMap((subject) => subject.verdict()), ...complaintsOf(server)],
		};
	} finally {
		gaveUp.abort();
		await server.kill();
		for (const pid of server.processes()) kill(pid);
		await unmountDisk(disk);
		await rm(directory, { recursive: true, force: true, maxRetries: 5 });
	}
}

/** Internal errors that a server reported: no fault here is a bug of ours. */
function complaintsOf(server: Server): string[] {
	return server.log.filter((line) => line.includes("invariant") || line.includes("internal"));
}

function kill(pid: number): void {
	try {
		process.kill(pid, "SIGKILL");
	} catch {
		// It has ended.
	}
}
