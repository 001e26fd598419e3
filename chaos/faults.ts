/** The faults of a chaos run, by class. Each function resolves when its fault is over. */

import { execFile } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { Random } from "./random.ts";
import type { Server } from "./server.ts";
import type { Subject } from "./subject.ts";

const run = promisify(execFile);

export type Scene = {
	readonly server: Server;
	readonly random: Random;
	/** A file system of its own, with little space. */
	readonly disk: string;
	/** The server reads the offset of its wall clock here, as libfaketime writes it. */
	readonly clockFile: string;
	/** Sessions whose keeper lives. */
	living(): readonly Subject[];
	/** Starts one more session. */
	add(): Promise<void>;
};

export type FaultClass = (typeof faultClasses)[number];
export const faultClasses = [
	"server-kill",
	"server-restart",
	"server-stop",
	"keeper-kill",
	"keeper-stop",
	"keeper-stop-restart",
	"spare-stop",
	"descriptors",
	"disk-full",
	"clock",
] as const;

export const faults: Readonly<Record<FaultClass, (scene: Scene) => Promise<void>>> = {
	"server-kill": async ({ server }) => {
		await server.kill();
		await server.start();
	},
	"server-restart": async ({ server }) => {
		await server.stop();
		await server.start();
	},
	"server-stop": async ({ server, random }) => {
		server.signal("SIGSTOP");
		await sleep(random.below(2_000));
		server.signal("SIGCONT");
	},
	"keeper-kill": async ({ server, random, living, add }) => {
		const subject = random.oneOf(living());
		const keeper = await server.keeperOf(subject.session.id);
		subject.isKeeperKilled = true;
		process.kill(keeper, "SIGKILL");
		await add();
	},
	"keeper-stop": async ({ server, random, living }) => {
		const keeper = await server.keeperOf(random.oneOf(living()).session.id);
		process.kill(keeper, "SIGSTOP");
		await sleep(random.below(3_000));
		process.kill(keeper, "SIGCONT");
	},
	"keeper-stop-restart": async ({ server, random, living }) => {
		const keeper = await server.keeperOf(random.oneOf(living()).session.id);
		process.kill(keeper, "SIGSTOP");
		await server.kill();
		await server.start();
		// Longer than the server waits for the first answer of a keeper.
		await sleep(random.below(8_000));
		process.kill(keeper, "SIGCONT");
	},
	"spare-stop": async ({ server, add }) => {
		const spares = await server.spares();
		for (const pid of spares) process.kill(pid, "SIGSTOP");
		// The start is refused and repeated with the same key: its program must run once.
		await add();
		for (const pid of spares) signalIfThere(pid, "SIGCONT");
	},
	descriptors: async ({ server, random }) => {
		await server.withFreeDescriptors(random.below(3), () => sleep(random.below(2_000)));
	},
	"disk-full": async ({ disk, random }) => {
		const filler = join(disk, "filler");
		await fill(filler);
		await sleep(random.below(2_000));
		await rm(filler, { force: true });
	},
	clock: async ({ clockFile, random }) => {
		await writeFile(clockFile, `${random.below(2) === 0 ? "-" : "+"}${1 + random.below(100_000)}s\n`);
		await sleep(random.below(1_000));
	},
};

/** A spare that took part in a start was ended. */
function signalIfThere(pid: number, signal: NodeJS.Signals): void {
	try {
		process.kill(pid, signal);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
	}
}

/** Writes until the file system has no room left. */
async function fill(path: string): Promise<void> {
	const file = createWriteStream(path, { flags: "a" });
	const failed = once(file, "error");
	const block = Buffer.alloc(1024 * 1024);
	for (let isFull = false; !isFull; ) {
		const next = file.write(block) ? Promise.resolve() : once(file, "drain");
		isFull = await Promise.race([next.then(() => false), failed.then(() => true)]);
	}
}

/** Mounts a file system with that much room; needs root. */
export async function mountDisk(directory: string, bytes: number): Promise<void> {
	await run("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", directory]);
}

export async function unmountDisk(directory: string): Promise<void> {
	await run("umount", ["--lazy", directory]);
}
