// @module-tag slow

/** A keeper that stops during a start: if the caller gets an error, the program must never run. */

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nameSegment } from "../../../src/journal/segment-format.ts";
import { journalDirectory, readRecord } from "../../../src/keeper/link/session-record.ts";
import { isAlive } from "../../support/alive.ts";
import { heldBack } from "../../support/held-start.ts";
import { KeeperSite } from "../../support/keeper-site.ts";
import { eventually, itemsUntil, textOf } from "../../support/reading.ts";
import { shell, startOf } from "../../support/starts.ts";

async function stoppedBefore(): Promise<void> {
	const site = await KeeperSite.create();
	const { keepers } = await site.open({ spares: 1 });
	const spare = await site.onlyKeeper();
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
		code: "node_unavailable",
		message: expect.stringContaining("the session was not started"),
	});
	const keeper = await site.onlyKeeper();
	await eventually("its lock", () => existsSync(join(directory, "halfway", "lock")));
	process.kill(keeper, "SIGSTOP");
	await starting;
	expect(isAlive(keeper)).toBe(false);
	expect(await readdir(directory)).toEqual([]);
}

/** The program may have run: its session exists, and continues with its keeper. */
async function stoppedAfterRecord(): Promise<void> {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const ahead = await heldBack(site, "echo ran >>ran; echo fine");
	const starting = keepers.start(ahead.start);
	const { keeper } = await eventually("its record", () => readRecord(join(site.directory, "sessions", "held")));
	process.kill(keeper.pid, "SIGSTOP");
	await ahead.letGo();
	const session = await starting;
	expect(session.state.status).toBe("running");
	expect(await session.summary()).toMatchObject({ unreachable: true });
	// By now the keeper's own timeout for the start is over, but its minder has answered.
	process.kill(keeper.pid, "SIGCONT");
	expect(textOf(await itemsUntil(session, { offset: 0 }))).toBe("fine\n");
	expect(await readFile(join(site.directory, "ran"), "utf8")).toBe("ran\n");
}

// In parallel, since most of the time is spent waiting for keepers.
test("a start whose keeper stops is refused and leaves nothing running, or makes a session if its program may have run", () =>
	Promise.all([stoppedBefore(), stoppedMidway(), stoppedAfterRecord()]));
