/** A removal is complete, whatever happens at the same time, and can be repeated. */

import { execFile } from "node:child_process";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { inProcess } from "../../../src/core/session/in-process-sessions.ts";
import { SessionRegistry } from "../../../src/core/session/session-registry.ts";
import { writeAtomically } from "../../../src/disk/write-atomically.ts";
import { FileCheckpoints } from "../../../src/services/screens/checkpoints.ts";
import { KeeperSite, only } from "../../support/keeper-site.ts";
import { eventually, itemsUntil, outputUntil, textOf, write } from "../../support/reading.ts";
import { fill, withSmallDisk } from "../../support/small-disk.ts";
import { shell, startOf } from "../../support/starts.ts";

const run = promisify(execFile);
const FLOOD = "stty raw -echo; head -c 3000000 /dev/zero | tr '\\0' x; exec sleep 1000";

test("a session is removed while its screen checkpoints are being written", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	for (let round = 0; round < 20; round++) {
		const session = await keepers.start(startOf(["/bin/cat"]));
		const directory = join(site.directory, "sessions", session.id);
		const checkpoints = new FileCheckpoints(join(directory, "screens"));
		let isOver = false;
		const writing = async (turn: () => Promise<void>) => {
			while (!isOver) {
				await turn().catch(() => {});
				await new Promise((resolve) => setImmediate(resolve));
			}
		};
		const snapshot = Buffer.alloc(1_000, "x");
		const writers = [
			writing(() => checkpoints.add({ seq: 1, offset: 0, time: 1, cols: 80, rows: 24, snapshot })),
			...["a", "b", "c"].map((name) => writing(() => writeAtomically(join(directory, name), "x"))),
		];
		await keepers.forget(session, { isKilled: true });
		isOver = true;
		await Promise.all(writers);
		expect(await readdir(join(site.directory, "sessions"))).toEqual([]);
	}
	expect(site.reports).toEqual([]);
});

test.each(["running", "archived"])("a reader of a removed %s session gets an error that says so", async (which) => {
	const site = await KeeperSite.create();
	const first = await site.open();
	let keepers = first.keepers;
	let session = await keepers.start(shell(FLOOD));
	await eventually("the output", async () => (await session.end()).offset >= 3_000_000);
	if (which === "archived") {
		await site.journaled(session);
		await session.kill({ signal: "SIGKILL", graceMs: 0 });
		await session.gone;
		await keepers.close();
		const second = await site.open();
		keepers = second.keepers;
		session = only(second.adopted);
		await session.gone;
	}
	const reader = session.follow({ offset: 0 })[Symbol.asyncIterator]();
	expect((await reader.next()).value).toMatchObject({ offset: 0 });
	await keepers.forget(session, { isKilled: true });
	const readOn = async () => {
		while (!(await reader.next()).done);
	};
	await expect(readOn()).rejects.toMatchObject({
		code: "session_not_found",
		message: `session "${session.id}" was removed`,
	});
});

test.each(["active", "archived"])(
	"the removal of an %s session whose directory can't be renamed deletes nothing, and can be repeated",
	async (which) => {
		const site = await KeeperSite.create();
		const first = await site.open();
		let { keepers } = first;
		let session = await keepers.start(shell("echo begin; exec cat"));
		await outputUntil(session, /begin/);
		await site.journaled(session);
		await site.record(session.id);
		if (which === "archived") {
			await session.kill({ signal: "SIGKILL", graceMs: 0 });
			await session.gone;
			await keepers.close();
			const second = await site.open();
			keepers = second.keepers;
			session = only(second.adopted);
			await session.gone;
		}
		const sessions = join(site.directory, "sessions");
		await run("chattr", ["+i", sessions]);
		try {
			await expect(keepers.forget(session, { isKilled: true })).rejects.toMatchObject({ code: "EPERM" });
			expect(textOf(await itemsUntil(session, { offset: 0 }))).toBe("begin\r\n");
		} finally {
			await run("chattr", ["-i", sessions]);
		}
		await keepers.forget(session, { isKilled: true });
		expect(await readdir(sessions)).toEqual([]);
	},
);

test("a session with a deleted directory and a dead keeper is removed from the list", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const transient = inProcess({ spawn, clock: systemClock });
	const sessions = new SessionRegistry({ homes: { durable: keepers, transient }, maxRunning: 9, maxEnded: 9 });
	const session = await sessions.create(shell("echo on; exec cat"));
	await outputUntil(session, /on/);
	const { keeper } = await site.record(session.id);
	await site.journaled(session);
	await rm(join(site.directory, "sessions", session.id), { recursive: true, maxRetries: 5 });
	process.kill(keeper.pid, "SIGKILL");
	await expect(itemsUntil(session, { offset: 0 })).rejects.toMatchObject({ code: "session_not_found" });
	await sessions.remove(session.id);
	expect(sessions.list()).toEqual([]);
	await sessions.remove(session.id);
});

test("an interrupted removal leaves no session, and the next server completes it", async () => {
	const site = await KeeperSite.create();
	const left = join(site.directory, "sessions", ".removed-t1-00000000");
	await mkdir(left, { recursive: true });
	await writeFile(join(left, "session.json"), "{}");
	const { adopted } = await site.open();
	expect(adopted).toEqual([]);
	await eventually("the rest to be removed", async () => (await readdir(join(left, ".."))).length === 0);
	expect(site.reports).toEqual([]);
});

test("a session whose keeper died on a full disk is removed with its directory", async () => {
	await withSmallDisk(1024 * 1024, async (directory) => {
		const site = await KeeperSite.create(directory);
		onTestFinished(() => site.close());
		const { keepers } = await site.open();
		const session = await keepers.start(shell("stty raw -echo; printf begin; exec cat"));
		await outputUntil(session, /begin/);
		const filler = await fill(directory);
		await write(session, "x".repeat(8192));
		await outputUntil(session, /x{8192}/);
		const { keeper } = await site.record(session.id);
		process.kill(keeper.pid, "SIGKILL");
		await eventually("the loss", () => session.state.status === "lost");
		await keepers.forget(session, { isKilled: true });
		expect(await readdir(join(directory, "sessions"))).toEqual([]);
		await rm(filler);
		await site.close();
	});
});
