// @module-tag slow

/** A keeper that stops during a start: the caller gets an error, so the program must never run. */

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { listProcesses } from "../../../src/backends/process-table.ts";
import { nameSegment } from "../../../src/journal/segment-format.ts";
import { journalDirectory, readRecord } from "../../../src/keeper/link/session-record.ts";
import { isAlive } from "../../support/alive.ts";
import { KeeperSite } from "../../support/keeper-site.ts";
import { eventually, itemsUntil, textOf } from "../../support/reading.ts";
import { shell, startOf } from "../../support/starts.ts";

/** The spare keeper. */
async function spareOf(site: KeeperSite): Promise<number> {
	const socket = await eventually("the spare", async () => (await readdir(join(site.directory, "run")))[0]);
	return eventually("its process", async () => {
		for (const { pid } of listProcesses()) {
			const line = await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "");
			if (line.includes(socket)) return pid;
		}
		return undefined;
	});
}

async function stoppedBefore(): Promise<void> {
	const site = await KeeperSite.create();
	const { keepers } = await site.open({ spares: 1 });
	const spare = await spareOf(site);
	await eventually("the spare to wait", async () => (await keepers.figures()).spares === 1);
	const file = join(site.directory, "ran");
	process.kill(spare, "SIGSTOP");
	await expect(keepers.start(shell(`echo ran >>${file}`))).rejects.toMatchObject({
		code: "node_unavailable",
		message: "the session was not started: the session's keeper did not respond within 10000 ms",
		hint: expect.stringContaining("killed before it ran the program"),
	});
	expect(isAlive(spare)).toBe(false);
	const session = await keepers.start(startOf(["/bin/echo", "fine"], { mode: "pipe" }));
	expect(textOf(await itemsUntil(session, { offset: 0 }))).toBe("fine\n");
	expect(existsSync(file)).toBe(false);
	expect(await readdir(join(site.directory, "sessions"))).toEqual([session.id]);
}

async function stoppedMidway(): Promise<void> {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const directory = join(site.directory, "sessions");
	// The keeper reads its journal before it runs the program, and this FIFO is never written.
	const journal = journalDirectory(join(directory, "halfway"));
	await mkdir(journal, { recursive: true });
	execFileSync("mkfifo", [join(journal, nameSegment({ seq: 1, offset: 0 }).name)]);
	const starting = expect(keepers.start(shell("sleep 1000", { id: "halfway" }))).rejects.toMatchObject({
		code: "internal",
		message: "the session's keeper died while it started",
	});
	const { keeper } = await eventually("its record", () => readRecord(join(directory, "halfway")));
	process.kill(keeper.pid, "SIGSTOP");
	await starting;
	expect(isAlive(keeper.pid)).toBe(false);
	expect(await readdir(directory)).toEqual([]);
}

// In parallel, since most of the time is spent waiting for keepers.
test("a start whose keeper stops before or during it is refused, and leaves nothing running", () =>
	Promise.all([stoppedBefore(), stoppedMidway()]));
