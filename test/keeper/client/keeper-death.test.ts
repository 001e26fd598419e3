/** The sessions and processes of keepers that die. */

import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rename } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { listProcesses } from "../../../src/backends/process-table.ts";
import type { Session } from "../../../src/core/session/session.ts";
import { nameSegment } from "../../../src/journal/segment-format.ts";
import { isAlive, journalDirectory, readRecord } from "../../../src/keeper/link/session-record.ts";
import { heldBack } from "../../support/held-start.ts";
import { KeeperSite, only } from "../../support/keeper-site.ts";
import { brief, eventually, itemsUntil, outputUntil, textOf, write } from "../../support/reading.ts";
import { rawShell, shell, startOf } from "../../support/starts.ts";

describe("when a keeper dies", () => {
	test("a keeper's death makes its session lost, readers get that after the last byte, and no process is left", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const session = await keepers.start(
			shell("trap '' HUP; (trap '' HUP; exec setsid sleep 1000) & echo up; sleep 1000"),
		);
		await outputUntil(session, /up/);
		const { keeper } = await site.record(session.id);
		await site.journaled(session);
		const rest = itemsUntil(session, { offset: 0 });
		const told: string[] = [];
		session.watch(({ status }) => told.push(status));
		process.kill(keeper.pid, "SIGKILL");
		const items = await rest;
		expect(told).toEqual(["lost"]);
		expect(textOf(items)).toBe("up\r\n");
		expect(items.at(-1)).toMatchObject({ kind: "lost" });
		expect(session.state).toMatchObject({ status: "lost", exit: null });
		await expect(write(session, "x")).rejects.toMatchObject({ code: "session_closed" });
		const marked = await Promise.all(
			listProcesses().map(({ pid }) => readFile(`/proc/${pid}/environ`, "latin1").catch(() => "")),
		);
		expect(marked.filter((text) => text.includes(`HAWSER_SESSION=${session.id}`))).toEqual([]);
	});

	test("the next server finds the session of a dead keeper lost, with a readable journal", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(shell("echo up; sleep 1000"));
		await outputUntil(session, /up/);
		const { keeper } = await site.record(session.id);
		await site.journaled(session);
		await first.keepers.close();
		process.kill(keeper.pid, "SIGKILL");
		await eventually("the keeper's end", async () => !(await isAlive(keeper)));
		const again = only((await site.open()).adopted);
		await eventually("the loss", () => again.state.status === "lost");
		const items = await itemsUntil(again, { offset: 0 });
		expect([textOf(items), items.at(-1)?.kind]).toEqual(["up\r\n", "lost"]);
		expect(only((await site.open()).adopted).state.status).toBe("lost");
	});

	test("the terminal's state is restored from the journal after a keeper's death", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const session = await keepers.start(shell("printf 'up\\033[?1049h\\033]0;editor\\007\\033[?25'; sleep 1000"));
		await outputUntil(session, /25$/);
		const { keeper } = await site.record(session.id);
		await site.journaled(session);
		const before = await session.scan();
		process.kill(keeper.pid, "SIGKILL");
		await eventually("the loss", () => session.state.status === "lost");
		expect(before).toMatchObject({ title: "editor", alternate: { isOn: true, since: 2 }, pending: "\u001b[?25" });
		expect(await session.scan()).toEqual(before);
	});

	test("a dead spare is replaced for the next session", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open({ spares: 1 });
		process.kill(await site.onlyKeeper(), "SIGKILL");
		const session = await keepers.start(startOf(["/bin/echo", "fine"], { mode: "pipe" }));
		expect(textOf(await itemsUntil(session, { offset: 0 }))).toBe("fine\n");
	});
});

describe("a keeper", () => {
	test("the size and exit of a keeper that died after a flood come from its newest segment", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const retention = { memoryBytes: 64 * 1024, journalBytes: 1024 * 1024 };
		const session = await first.keepers.start(
			shell("trap '' HUP; read go; (sleep 0.05; head -c 600000 /dev/zero; echo over; exec sleep 1000) & exit 5", {
				retention,
				drainMs: 60_000,
			}),
		);
		await session.act({ kind: "resize", size: { cols: 99, rows: 9 } });
		await write(session, "\n");
		await outputUntil(session, /over/);
		await site.journaled(session);
		const { keeper } = await site.record(session.id);
		await eventually("the state on disk", async () => (await site.record(session.id)).state?.exit?.code === 5);
		await first.keepers.close();
		process.kill(keeper.pid, "SIGKILL");
		const [again] = (await site.open()).adopted as [Session];
		await eventually("the loss", () => again.state.status === "lost");
		expect(again.state).toMatchObject({ size: { cols: 99, rows: 9 }, exit: { code: 5, signal: null } });
		expect((await itemsUntil(again, { offset: 0 })).at(-1)).toMatchObject({ kind: "lost" });
	});

	test("a dead keeper of an ended session without a journal leaves it closed, with its exit and length", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const retention = { memoryBytes: 4096, journalBytes: 0 };
		const session = await first.keepers.start(shell("printf kept; exit 7", { mode: "pipe", retention }));
		await itemsUntil(session, { offset: 0 });
		const { keeper } = await site.record(session.id);
		await eventually("the state on disk", async () => (await site.record(session.id)).state?.status === "closed");
		await first.keepers.close();
		process.kill(keeper.pid, "SIGKILL");
		const again = only((await site.open()).adopted);
		await eventually("the answer", async () => (await again.info()).offsets.end === 4);
		expect(again.state).toMatchObject({ status: "closed", exit: { code: 7, signal: null } });
		expect((await itemsUntil(again, { offset: 0 })).map(brief)).toEqual(["gap 0-4 retention", "closed"]);
	});

	test("the next server removes the socket of a killed keeper, and only that", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(rawShell("exec cat"));
		const { keeper } = await site.record(session.id);
		await first.keepers.close();
		const stale = join(site.directory, "run", "0123456789abcdef.sock");
		const server = createServer().listen(stale);
		await once(server, "listening");
		const left = `${stale}.left`;
		await rename(stale, left);
		server.close();
		await rename(left, stale);
		await site.open();
		await eventually("the stale one to go", () => !existsSync(stale));
		expect(existsSync(keeper.socket)).toBe(true);
	});
});

describe("a start whose keeper dies", () => {
	test("a start whose keeper dies never runs its program twice, however many spares there are", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open({ spares: 3 });
		await eventually("the spares", async () => (await readdir(join(site.directory, "run"))).length === 3);
		const file = join(site.directory, "runs");
		// The ancestors of the program: its minder, the nursery, and the keeper.
		const parentOf = (pid: string) => `$(ps -o ppid= -p ${pid})`;
		const suicide = shell(`echo run >>${file}; kill -9 ${parentOf(parentOf("$PPID"))}; exec sleep 1000`, {
			mode: "pipe",
		});
		const session = await keepers.start(suicide);
		expect((await itemsUntil(session, { offset: 0 })).at(-1)).toMatchObject({ kind: "lost" });
		await eventually("the spares again", async () => (await keepers.figures()).spares === 3);
		expect(readFileSync(file, "utf8")).toBe("run\n");
	});

	test("a start whose keeper dies when its program may have run makes a lost session, which later servers find", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const ahead = await heldBack(site, "echo ran >>ran");
		const starting = keepers.start(ahead.start);
		const { keeper } = await eventually("its record", () => readRecord(join(site.directory, "sessions", "held")));
		process.kill(keeper.pid, "SIGKILL");
		const session = await starting;
		await eventually("the loss", () => session.state.status === "lost");
		await ahead.letGo();
		expect(only((await site.open()).adopted)).toMatchObject({ id: "held", state: { status: "lost" } });
		expect(existsSync(join(site.directory, "ran"))).toBe(false);
	});

	test("a start whose keeper dies before its program can run leaves no directory, no process and no lost session", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const id = "ghost";
		const directory = join(site.directory, "sessions");
		// The keeper stops at its journal, before it runs the program: the FIFO is never written.
		const journal = journalDirectory(join(directory, id));
		await mkdir(journal, { recursive: true });
		execFileSync("mkfifo", [join(journal, nameSegment({ seq: 1, offset: 0 }).name)]);
		const starting = expect(keepers.start(shell("sleep 1000", { id }))).rejects.toMatchObject({ code: "internal" });
		await eventually("its lock", () => existsSync(join(directory, id, "lock")));
		process.kill(await site.onlyKeeper(), "SIGKILL");
		await starting;
		expect(await readdir(directory)).toEqual([]);
		expect((await site.open()).adopted).toEqual([]);
	});
});
