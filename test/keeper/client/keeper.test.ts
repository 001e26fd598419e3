/** Keepers across servers, and when they exit. */

import { readFileSync } from "node:fs";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { descendants, isLeft, listProcesses } from "../../../src/backends/process-table.ts";
import { KeeperLink } from "../../../src/keeper/client/keeper-link.ts";
import { isAlive } from "../../../src/keeper/link/session-record.ts";
import { KeeperSite, only } from "../../support/keeper-site.ts";
import { eventually, itemsUntil, outputUntil, PATIENCE_MS, textOf, write } from "../../support/reading.ts";
import { rawShell, shell, startOf } from "../../support/starts.ts";

/** The command of a process; empty if it is gone. */
function commandOf(pid: number): string {
	try {
		return readFileSync(`/proc/${pid}/comm`, "latin1");
	} catch {
		return "";
	}
}

describe("a keeper", () => {
	test("a keeper refuses a server of an older generation, and accepts a newer one", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		await site.open();
		const session = await keepers.start(rawShell("exec cat"));
		const { keeper } = await site.record(session.id);
		const newer = await KeeperLink.connect(keeper, 5, PATIENCE_MS);
		expect(newer.welcome).toMatchObject({ session: { id: session.id, state: { status: "running" } } });
		await expect(session.end()).rejects.toMatchObject({ code: "node_unavailable" });
		await expect(KeeperLink.connect(keeper, 4, PATIENCE_MS)).rejects.toMatchObject({ code: "node_unavailable" });
		await newer.link.call({ do: "kill", options: { signal: "SIGKILL" } });
		newer.link.close();
	});

	test("a keeper refuses a server that searches another keeper", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const session = await keepers.start(rawShell("exec cat"));
		const { keeper } = await site.record(session.id);
		await expect(KeeperLink.connect({ ...keeper, epoch: "0000000000000000" }, 9, PATIENCE_MS)).rejects.toMatchObject({
			code: "session_not_found",
		});
		expect((await session.info()).status).toBe("running");
	});

	test("an unresponsive keeper is neither killed nor given up, and answers again later", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(rawShell("printf on; exec cat"));
		await outputUntil(session, /on/);
		const { keeper } = await site.record(session.id);
		await first.keepers.close();
		process.kill(keeper.pid, "SIGSTOP");
		const again = only((await site.open()).adopted);
		await eventually("a report", () => String(site.reports).includes("is not responding but may be alive"));
		expect(again.state.status).toBe("running");
		process.kill(keeper.pid, "SIGCONT");
		expect(await outputUntil(again, /on/)).toBe("on");
	});

	test("a keeper stays with processes left behind, so that a later kill finds all of them", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const session = await keepers.start(
			startOf(["/bin/sh", "-c", "env -i setsid sleep 1000 >/dev/null 2>&1 & echo started"], { mode: "pipe" }),
		);
		await itemsUntil(session, { offset: 0 });
		const { keeper } = await site.record(session.id);
		// It may not have called exec yet when the program ends.
		const sleeper = await eventually("what the program left behind", () =>
			descendants(keeper.pid, listProcesses()).find(({ pid }) => commandOf(pid) === "sleep\n"),
		);
		await session.kill({ graceMs: 1_000 });
		expect(isLeft(sleeper)).toBe(false);
		await eventually("the keeper to leave", async () => !(await isAlive(keeper)));
	});

	test("keepers started and lost are counted, with the bytes of their journals", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		expect(await keepers.figures()).toEqual({ started: 0, lost: 0, spares: 0, journalBytes: 0 });
		const session = await keepers.start(shell("echo up; exec sleep 1000"));
		await outputUntil(session, /up/);
		await site.journaled(session);
		const { journalBytes, ...counts } = await keepers.figures();
		expect(counts).toEqual({ started: 1, lost: 0, spares: 0 });
		expect(journalBytes).toBeGreaterThan(0);
		process.kill((await site.record(session.id)).keeper.pid, "SIGKILL");
		await eventually("the loss", () => session.state.status === "lost");
		expect((await keepers.figures()).lost).toBe(1);
	});

	test("a stopped keeper makes its session unreachable, and only force ends it", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const session = await keepers.start(shell("echo up; trap '' HUP TERM; while :; do sleep 1; done"));
		await outputUntil(session, /up/);
		const { pid } = await session.summary(PATIENCE_MS);
		const { keeper } = await site.record(session.id);
		process.kill(keeper.pid, "SIGSTOP");
		expect(await session.summary()).toMatchObject({ id: session.id, status: "running", pid, unreachable: true });
		await keepers.forget(session, { isKilled: true, isForced: true });
		expect(await isAlive(keeper)).toBe(false);
		expect(listProcesses().some((process) => process.pid === pid)).toBe(false);
		expect(await readdir(join(site.directory, "sessions"))).toEqual([]);
		await expect(session.info()).rejects.toMatchObject({ code: "session_not_found" });
	});

	test("a keeper's greeting describes its session, so a list needs no further answer", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(shell("echo up; exec sleep 1000"));
		await outputUntil(session, /up/);
		const { pid } = await session.summary(PATIENCE_MS);
		await first.keepers.close();
		const again = only((await site.open()).adopted);
		await eventually("the greeting", async () => !(await again.summary(0)).unreachable);
		const { keeper } = await site.record(session.id);
		process.kill(keeper.pid, "SIGSTOP");
		const told = await again.summary(1);
		expect(told).toMatchObject({ status: "running", pid, offsets: { oldest: 0, end: 4 } });
		expect(told).not.toHaveProperty("unreachable");
		process.kill(keeper.pid, "SIGCONT");
	});

	test("a late answer of a keeper does not replace newer information", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const session = await keepers.start(rawShell("read -r x; printf up; exec cat"));
		expect((await session.info()).offsets.end).toBe(0);
		await write(session, "\n");
		await outputUntil(session, /up/);
		const { keeper } = await site.record(session.id);
		process.kill(keeper.pid, "SIGSTOP");
		expect((await session.summary(1)).offsets).toEqual({ oldest: 0, end: 2 });
		process.kill(keeper.pid, "SIGCONT");
	});

	test("a keeper ends its session in order when the machine shuts down", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open({ spares: 1 });
		const session = await keepers.start(shell("trap 'echo bye; exit 7' HUP; echo up; while :; do sleep 0.01; done"));
		await outputUntil(session, /up/);
		const { keeper } = await site.record(session.id);
		process.kill(keeper.pid, "SIGTERM");
		const items = await itemsUntil(session, { offset: 0 });
		// The shell may also report its child's end.
		expect(textOf(items)).toMatch(/^up\r\n(Hangup\r\n)?bye\r\n$/);
		expect(items.at(-1)).toMatchObject({ kind: "closed" });
		expect(session.state.exit).toEqual({ code: 7, signal: null, reason: "killed", by: "shutdown" });
		await eventually("the keeper to leave", async () => !(await isAlive(keeper)));
		expect((await site.record(session.id)).ended).toMatchObject({ status: "closed", exit: { code: 7 } });
	});

	test("a keeper's log starts anew when it is long", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const log = join(site.directory, "keepers.log");
		await writeFile(log, Buffer.alloc(4 * 1024 * 1024 + 1, "x"));
		const session = await keepers.start(rawShell("exec cat"));
		const { keeper } = await site.record(session.id);
		const { link } = await KeeperLink.connect(keeper, 9, PATIENCE_MS);
		// An internal error for the keeper: it already has a session.
		const opening = { do: "open", start: startOf(["true"]), directory: site.directory, fsync: "interval" } as const;
		await expect(link.call(opening)).rejects.toMatchObject({ code: "internal" });
		link.close();
		expect(await readFile(log, "utf8")).toMatch(
			/^\d{4}-.* keeper \d+: Error: invariant: this keeper already has session/,
		);
	});

	test("a keeper whose first start failed stays with processes of its next session", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open({ spares: 1 });
		await eventually("the spare", async () => (await readdir(join(site.directory, "run"))).length === 1);
		await expect(keepers.start(startOf(["/no/such/program"]))).rejects.toMatchObject({ code: "spawn_failed" });
		const session = await keepers.start(
			startOf(["/bin/sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!"], { mode: "pipe" }),
		);
		const left = Number(textOf(await itemsUntil(session, { offset: 0 })));
		const { keeper } = await site.record(session.id);
		expect(await isAlive(keeper)).toBe(true);
		expect(listProcesses().some(({ pid }) => pid === left)).toBe(true);
		await session.kill({ graceMs: 0 });
		await eventually("the keeper to leave", async () => !(await isAlive(keeper)));
	});

	test("a keeper exits when its session's directory is gone and its program has ended", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const session = await keepers.start(rawShell("printf on; exec cat"));
		await outputUntil(session, /on/);
		const { keeper } = await site.record(session.id);
		const { pid } = await session.info();
		// Everything is journaled, so no file is created during the removal.
		await site.journaled(session);
		await eventually("the state on disk", async () => (await site.record(session.id)).end);
		await keepers.close();
		await rm(join(site.directory, "sessions", session.id), { recursive: true });
		process.kill(pid ?? Number.NaN, "SIGKILL");
		await eventually("the keeper to leave", async () => !(await isAlive(keeper)));
	});

	test("a spare keeper exits when its server exits", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open({ spares: 2 });
		await eventually("two spares", async () => (await readdir(join(site.directory, "run"))).length === 2);
		await keepers.close();
		await eventually("none", async () => (await readdir(join(site.directory, "run"))).length === 0);
	});
});
