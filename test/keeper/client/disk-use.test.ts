/** The files that count in the limits of the disk. */

import { truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { inProcess } from "../../../src/core/session/in-process-sessions.ts";
import { SessionRegistry } from "../../../src/core/session/session-registry.ts";
import { KeeperSite, only } from "../../support/keeper-site.ts";
import { outputUntil } from "../../support/reading.ts";
import { shell, startOf } from "../../support/starts.ts";

const CHECKPOINTS_BYTES = 500_000;

test("screen checkpoints count in the disk's limit, and those of a running session count besides its journal", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open({ maxDiskBytes: 0 });
	const session = await keepers.start(shell("echo on; exec cat"));
	await outputUntil(session, /on/);
	await site.journaled(session);
	const journal = await keepers.excessBytes();
	expect(journal).toBeGreaterThan(0);
	const file = join(site.directory, "sessions", session.id, "screens");
	await writeFile(file, "");
	await truncate(file, CHECKPOINTS_BYTES);
	expect(await keepers.keptBytes(session)).toBe(CHECKPOINTS_BYTES);
	await session.kill({ signal: "SIGKILL", graceMs: 0 });
	expect(await keepers.keptBytes(session)).toBeGreaterThanOrEqual(CHECKPOINTS_BYTES + journal);
	await session.gone;
	await keepers.close();

	const next = await site.open({ maxDiskBytes: 0 });
	expect(await next.keepers.excessBytes()).toBeGreaterThanOrEqual(CHECKPOINTS_BYTES + journal);
	await next.keepers.forget(only(next.adopted), { isKilled: false });
	expect(await next.keepers.excessBytes()).toBe(0);
});

test("the checkpoints of a running session count in its workspace's limit", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const limits = { journalBytes: 4_000_000 };
	const sessions = new SessionRegistry({
		homes: { durable: keepers, transient: inProcess({ spawn, clock: systemClock }) },
		maxRunning: 9,
		maxEnded: 9,
		workspaces: {
			get: (id) => ({ id, name: null, roots: [], limits, sandbox: null, createdAt: 0 }),
			countStart: () => 0,
			resolveDirectory: async (_, directory) => directory,
		},
	});
	const start = () => startOf(["/bin/cat"], { retention: { memoryBytes: 1024, journalBytes: 1_000_000 } });
	const first = await sessions.create(start());
	await sessions.create(start());
	const file = join(site.directory, "sessions", first.id, "screens");
	await writeFile(file, "");
	await truncate(file, 1_000_001);
	await expect(sessions.create(start())).rejects.toMatchObject({ code: "limit_exceeded" });
	await truncate(file, 1_000_000);
	await sessions.create(start());
});
