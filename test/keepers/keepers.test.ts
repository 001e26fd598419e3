import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { descendants, isLeft, living } from "../../src/backends/processes.ts";
import type { Item } from "../../src/core/event.ts";
import type { Session } from "../../src/core/session.ts";
import { openForReading } from "../../src/journal/reader.ts";
import { KeeperLink } from "../../src/keepers/keeper-link.ts";
import { isAlive, type SessionRecord } from "../../src/link/record.ts";
import { KeeperSite } from "../helpers/keepers.ts";
import { brief, eventually, itemsUntil, outputUntil, textOf, write } from "../helpers/reading.ts";
import { shell, startOf } from "../helpers/starts.ts";

const raw = (script: string) => shell(`stty raw -echo; ${script}`);

function only(sessions: readonly Session[]): Session {
	expect(sessions).toHaveLength(1);
	return sessions[0] as Session;
}

/** Waits until all output so far is on disk, as a reader of the files would see it. */
async function journaled(site: KeeperSite, session: Session): Promise<void> {
	const { offset } = await session.end();
	const directory = join(site.directory, "sessions", session.id, "journal");
	await eventually("the journal", async () => (await openForReading(directory)).end.offset >= offset);
}

describe("a session in a keeper", () => {
	test("is read, written, resized and ended through the link like any other", async () => {
		const { keepers } = await (await KeeperSite.create()).open();
		const session = await keepers.start(raw("printf ready; read -r line; printf '%s' \"$line\"; stty size; exit 7"));
		await outputUntil(session, /ready/);
		await session.act({ kind: "resize", size: { cols: 132, rows: 50 } });
		await write(session, "hello\n");
		const items = await itemsUntil(session, { offset: 0 });
		expect(textOf(items)).toMatch(/^readyhello50 132\r?\n$/);
		expect(items.map(({ kind }) => kind).filter((kind) => kind !== "output")).toEqual(["resized", "exited", "closed"]);
		expect(items).toContainEqual(expect.objectContaining({ kind: "exited", exit: { code: 7, signal: null } }));
		expect(session.state).toMatchObject({ status: "closed", size: { cols: 132, rows: 50 }, exit: { code: 7 } });
	});

	test("goes on while no server is there, and the next server finds it with nothing missing", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(raw("printf one; read -r line; printf two; read -r line; printf three"));
		await outputUntil(session, /one/);
		const { pid } = await session.info();
		await write(session, "\n");
		await first.keepers.close();

		const second = await site.open();
		const again = only(second.adopted);
		expect(await again.info()).toMatchObject({ id: session.id, pid, status: "running" });
		expect(await outputUntil(again, /two/)).toBe("onetwo");
		await write(again, "\n");
		expect((await itemsUntil(again, { offset: 0 })).map(brief)).toEqual(
			expect.arrayContaining([expect.stringContaining("three"), "exited", "closed"]),
		);
	});

	test("that ended while no server was there is read from its journal", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(raw("printf start; read -r line; printf end; exit 3"));
		await outputUntil(session, /start/);
		const { keeper } = await site.record(session.id);
		await write(session, "\n");
		await first.keepers.close();
		await eventually("the keeper to leave", async () => !(await isAlive(keeper)));

		const again = only((await site.open()).adopted);
		expect(again.state).toMatchObject({ status: "closed", exit: { code: 3, signal: null } });
		expect(textOf(await itemsUntil(again, { offset: 0 }))).toBe("startend");
		expect(textOf(await itemsUntil(again, { offset: 3 }))).toBe("rtend");
		await expect(write(again, "late")).rejects.toMatchObject({ code: "session_closed" });
		expect(await again.info()).toMatchObject({ offsets: { oldest: 0, end: 8 } });
	});

	test("passes a reader from the keeper to the journal in mid-stream when the keeper leaves", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const session = await keepers.start(startOf(["/usr/bin/seq", "1", "400000"], { mode: "pipe" }));
		const { keeper } = await site.record(session.id);
		const seen: Item[] = [];
		for await (const item of session.follow({ offset: 0 })) {
			if (seen.length === 0) await eventually("the keeper to leave", async () => !(await isAlive(keeper)));
			seen.push(item);
		}
		const lines = textOf(seen).split("\n");
		expect(lines).toHaveLength(400_001);
		expect(lines.every((line, index) => line === (index === 400_000 ? "" : String(index + 1)))).toBe(true);
	});

	test("accepts each byte of a stream once, whichever server it comes through", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(raw("printf R; exec cat"));
		await outputUntil(session, /R/);
		const send = (to: Session, position: number, text: string) =>
			to.act({ kind: "write", bytes: Buffer.from(text) }, { origin: { stream: "s", position } });
		expect(await send(session, 0, "abc")).toMatchObject({ next: 3 });
		await first.keepers.close();
		const again = only((await site.open()).adopted);
		expect(await send(again, 0, "abcde")).toMatchObject({ next: 5 });
		expect(await send(again, 2, "cde")).toMatchObject({ next: 5 });
		await expect(send(again, 9, "x")).rejects.toMatchObject({
			code: "invalid_argument",
			message: expect.stringContaining("position 5"),
		});
		for await (const { written } of again.receipts("s")) if (written === 5) break;
		expect(await again.receipt("s")).toMatchObject({ next: 5, written: 5 });
		expect(await outputUntil(again, /e/)).toBe("Rabcde");
	});

	test("keeps the fence of its lease over a change of servers", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(raw("exec cat"));
		const lease = await session.acquire("ana", { exclusive: true, take: false });
		await expect(write(session, "no")).rejects.toMatchObject({ code: "not_writable" });
		await first.keepers.close();
		const again = only((await site.open()).adopted);
		await again.act({ kind: "write", bytes: Buffer.from("still hers") }, { fence: lease.fence });
		const taken = await again.acquire("ben", { exclusive: true, take: true });
		expect(taken.fence).toBeGreaterThan(lease.fence);
		await expect(again.act({ kind: "eof" }, { fence: lease.fence })).rejects.toMatchObject({ code: "not_writable" });
	});

	test("without a journal is kept in its keeper's memory until it is forgotten", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const retention = { memoryBytes: 4096, journalBytes: 0 };
		const session = await first.keepers.start(startOf(["/bin/echo", "kept"], { mode: "pipe", retention }));
		await itemsUntil(session, { offset: 0 });
		const { keeper } = await site.record(session.id);
		await first.keepers.close();
		const second = await site.open();
		const again = only(second.adopted);
		expect(textOf(await itemsUntil(again, { offset: 0 }))).toBe("kept\n");
		await second.keepers.forget(again, { isKilled: true });
		await eventually("the keeper to leave", async () => !(await isAlive(keeper)));
		expect(await readdir(join(site.directory, "sessions"))).toEqual([]);
	});
});

describe("when a keeper dies", () => {
	test("its session is lost, a reader is told so after the last byte, and nothing of the program is left", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const session = await keepers.start(
			shell("trap '' HUP; (trap '' HUP; exec setsid sleep 1000) & echo up; sleep 1000"),
		);
		await outputUntil(session, /up/);
		const { keeper } = await site.record(session.id);
		await journaled(site, session);
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
			living().map(({ pid }) => readFile(`/proc/${pid}/environ`, "latin1").catch(() => "")),
		);
		expect(marked.filter((text) => text.includes(`HAWSER_SESSION=${session.id}`))).toEqual([]);
	});

	test("while no server is there, the next server finds the session lost, with its journal readable", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(shell("echo up; sleep 1000"));
		await outputUntil(session, /up/);
		const { keeper } = await site.record(session.id);
		await journaled(site, session);
		await first.keepers.close();
		process.kill(keeper.pid, "SIGKILL");
		await eventually("the keeper's end", async () => !(await isAlive(keeper)));
		const again = only((await site.open()).adopted);
		await eventually("the loss", () => again.state.status === "lost");
		expect((await itemsUntil(again, { offset: 0 })).map(brief)).toEqual(["up\r\n", "lost"]);
		expect(only((await site.open()).adopted).state.status).toBe("lost");
	});

	test("what the output said about the terminal comes out of the journal again", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const session = await keepers.start(shell("printf 'up\\033[?1049h\\033]0;editor\\007\\033[?25'; sleep 1000"));
		await outputUntil(session, /25$/);
		const { keeper } = await site.record(session.id);
		await journaled(site, session);
		const before = await session.scan();
		process.kill(keeper.pid, "SIGKILL");
		await eventually("the loss", () => session.state.status === "lost");
		expect(before).toMatchObject({ title: "editor", alternate: { isOn: true, since: 2 }, pending: "\u001b[?25" });
		expect(await session.scan()).toEqual(before);
	});

	test("as a spare, the next session gets another", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open({ spares: 1 });
		const spare = await eventually("the spare", async () => (await readdir(join(site.directory, "run")))[0]);
		const pid = await eventually("its process", async () => {
			for (const process of living()) {
				const line = await readFile(`/proc/${process.pid}/cmdline`, "utf8").catch(() => "");
				if (line.includes(spare)) return process.pid;
			}
			return undefined;
		});
		process.kill(pid, "SIGKILL");
		const session = await keepers.start(startOf(["/bin/echo", "fine"], { mode: "pipe" }));
		expect(textOf(await itemsUntil(session, { offset: 0 }))).toBe("fine\n");
	});
});

describe("a keeper", () => {
	test("refuses a server of an older generation, and lets a newer one take over", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		await site.open();
		const session = await keepers.start(raw("exec cat"));
		const { keeper } = await site.record(session.id);
		const newer = await KeeperLink.connect(keeper, 5, 2_000);
		expect(newer.welcome).toMatchObject({ session: session.id, state: { status: "running" } });
		await expect(session.info()).rejects.toMatchObject({ code: "node_unavailable" });
		await expect(KeeperLink.connect(keeper, 4, 2_000)).rejects.toMatchObject({ code: "node_unavailable" });
		await newer.link.call({ do: "kill", options: { signal: "SIGKILL" } });
		newer.link.close();
	});

	test("refuses a server that looks for another keeper", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const session = await keepers.start(raw("exec cat"));
		const { keeper } = await site.record(session.id);
		await expect(KeeperLink.connect({ ...keeper, epoch: "0000000000000000" }, 9, 2_000)).rejects.toMatchObject({
			code: "session_not_found",
		});
		expect((await session.info()).status).toBe("running");
	});

	test("that lives but is silent is neither killed nor given up, and answers again when it can", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(raw("printf on; exec cat"));
		await outputUntil(session, /on/);
		const { keeper } = await site.record(session.id);
		await first.keepers.close();
		process.kill(keeper.pid, "SIGSTOP");
		const again = only((await site.open()).adopted);
		await eventually("a report", () => String(site.reports).includes("does not answer, and may live"));
		expect(again.state.status).toBe("running");
		process.kill(keeper.pid, "SIGCONT");
		expect(await outputUntil(again, /on/)).toBe("on");
	});

	test("stays with what the program left behind, so that a later kill finds all of it", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const session = await keepers.start(
			startOf(["/bin/sh", "-c", "env -i setsid sleep 1000 >/dev/null 2>&1 & echo started"], { mode: "pipe" }),
		);
		await itemsUntil(session, { offset: 0 });
		const { keeper } = await site.record(session.id);
		const [sleeper] = descendants(keeper.pid, living()).filter(
			({ pid }) => readFileSync(`/proc/${pid}/comm`, "latin1") === "sleep\n",
		);
		if (!sleeper) throw new Error("the program left nothing behind");
		await session.kill({ graceMs: 1_000 });
		expect(isLeft(sleeper)).toBe(false);
		await eventually("the keeper to leave", async () => !(await isAlive(keeper)));
	});

	test("is counted when it is started and when it is lost, with what its journal takes", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		expect(await keepers.figures()).toEqual({ started: 0, lost: 0, spares: 0, journalBytes: 0 });
		const session = await keepers.start(shell("echo up; exec sleep 1000"));
		await outputUntil(session, /up/);
		await journaled(site, session);
		const { journalBytes, ...counts } = await keepers.figures();
		expect(counts).toEqual({ started: 1, lost: 0, spares: 0 });
		expect(journalBytes).toBeGreaterThan(0);
		process.kill((await site.record(session.id)).keeper.pid, "SIGKILL");
		await eventually("the loss", () => session.state.status === "lost");
		expect((await keepers.figures()).lost).toBe(1);
	});

	test("that is stopped makes its session unreachable, and is ended only by force", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const session = await keepers.start(shell("echo up; trap '' HUP TERM; while :; do sleep 1; done"));
		await outputUntil(session, /up/);
		const { pid } = await session.info();
		const { keeper } = await site.record(session.id);
		process.kill(keeper.pid, "SIGSTOP");
		expect(await session.info()).toMatchObject({ id: session.id, status: "running", pid, unreachable: true });
		await keepers.forget(session, { isKilled: true, isForced: true });
		expect(await isAlive(keeper)).toBe(false);
		expect(living().some((process) => process.pid === pid)).toBe(false);
		expect(await readdir(join(site.directory, "sessions"))).toEqual([]);
		await expect(session.info()).rejects.toMatchObject({ code: "session_not_found" });
	});

	test("has told about its session with its greeting, so that a list needs no further answer of it", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(shell("echo up; exec sleep 1000"));
		await outputUntil(session, /up/);
		const { pid } = await session.info();
		await first.keepers.close();
		const again = only((await site.open()).adopted);
		const { keeper } = await site.record(session.id);
		process.kill(keeper.pid, "SIGSTOP");
		const told = await again.info(1);
		expect(told).toMatchObject({ status: "running", pid, offsets: { oldest: 0, end: 4 } });
		expect(told).not.toHaveProperty("unreachable");
		process.kill(keeper.pid, "SIGCONT");
	});

	test("ends its session in order when the machine shuts down", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open({ spares: 1 });
		const session = await keepers.start(shell("trap 'echo bye; exit 7' HUP; echo up; while :; do sleep 0.01; done"));
		await outputUntil(session, /up/);
		const { keeper } = await site.record(session.id);
		process.kill(keeper.pid, "SIGTERM");
		const items = await itemsUntil(session, { offset: 0 });
		// The shell may tell of its child's end, too.
		expect(textOf(items)).toMatch(/^up\r\n(Hangup\r\n)?bye\r\n$/);
		expect(items.at(-1)).toMatchObject({ kind: "closed" });
		expect(session.state.exit).toEqual({ code: 7, signal: null, reason: "killed", by: "shutdown" });
		await eventually("the keeper to leave", async () => !(await isAlive(keeper)));
		expect((await site.record(session.id)).ended).toMatchObject({ status: "closed", exit: { code: 7 } });
	});

	test("that died after a flood is told from its newest segment alone, with the size and exit it had", async () => {
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
		await journaled(site, session);
		const { keeper } = await site.record(session.id);
		await eventually("the state on disk", async () => (await site.record(session.id)).state?.exit?.code === 5);
		await first.keepers.close();
		process.kill(keeper.pid, "SIGKILL");
		const [again] = (await site.open()).adopted as [Session];
		await eventually("the loss", () => again.state.status === "lost");
		expect(again.state).toMatchObject({ size: { cols: 99, rows: 9 }, exit: { code: 5, signal: null } });
		expect((await itemsUntil(again, { offset: 0 })).at(-1)).toMatchObject({ kind: "lost" });
	});

	test("writes a log that begins anew when it is long", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const log = join(site.directory, "keepers.log");
		await writeFile(log, Buffer.alloc(4 * 1024 * 1024 + 1, "x"));
		const session = await keepers.start(raw("exec cat"));
		const { keeper } = await site.record(session.id);
		const { link } = await KeeperLink.connect(keeper, 9, 2_000);
		// Our own bug, as far as a keeper can tell: it has a session already.
		const opening = { do: "open", start: startOf(["true"]), directory: site.directory, fsync: "interval" } as const;
		await expect(link.call(opening)).rejects.toMatchObject({ code: "internal" });
		link.close();
		expect(await readFile(log, "utf8")).toMatch(/^\d{4}-.* keeper \d+: Error: invariant: this keeper has session/);
	});

	test("whose first start failed stays with what the next session leaves behind", async () => {
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
		expect(living().some(({ pid }) => pid === left)).toBe(true);
		await session.kill({ graceMs: 0 });
		await eventually("the keeper to leave", async () => !(await isAlive(keeper)));
	});

	test("leaves when its session's directory is gone and its program has ended", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const session = await keepers.start(raw("printf on; exec cat"));
		await outputUntil(session, /on/);
		const { keeper } = await site.record(session.id);
		await keepers.close();
		await rm(join(site.directory, "sessions", session.id), { recursive: true });
		const program = living().find(({ parent }) =>
			living().some(({ pid, parent: top }) => pid === parent && top === keeper.pid),
		);
		process.kill(program?.pid ?? Number.NaN, "SIGKILL");
		await eventually("the keeper to leave", async () => !(await isAlive(keeper)));
	});

	test("that kept an ended session without a journal and died leaves it closed, with its exit and its length", async () => {
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

	test("that was killed leaves a socket that the next server takes away, and only that", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(raw("exec cat"));
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

	test("that was a spare leaves when its server does", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open({ spares: 2 });
		await eventually("two spares", async () => (await readdir(join(site.directory, "run"))).length === 2);
		await keepers.close();
		await eventually("none", async () => (await readdir(join(site.directory, "run"))).length === 0);
	});
});

describe("a start that fails", () => {
	test("says why, leaves nothing behind, and does not cost the spare", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open({ spares: 1 });
		await eventually("the spare", async () => (await readdir(join(site.directory, "run"))).length === 1);
		const [spare] = await readdir(join(site.directory, "run"));
		await expect(keepers.start(startOf(["/no/such/program"]))).rejects.toMatchObject({
			code: "spawn_failed",
			message: expect.stringContaining("ENOENT"),
		});
		expect(await readdir(join(site.directory, "sessions"))).toEqual([]);
		const session = await keepers.start(raw("exec cat"));
		const { keeper } = await site.record(session.id);
		expect([spare, await readdir(join(site.directory, "run"))].flat()).toContain(`${keeper.epoch}.sock`);
	});
});

describe("a start whose keeper dies in the midst of it", () => {
	test("never runs its program twice, however many spares there are", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open({ spares: 3 });
		await eventually("the spares", async () => (await readdir(join(site.directory, "run"))).length === 3);
		const file = join(site.directory, "runs");
		const suicide = shell(`echo run >> ${file}; kill -9 $(ps -o ppid= -p $PPID); exec sleep 1000`, { mode: "pipe" });
		// The keeper may have said that it runs before it is killed.
		await keepers.start(suicide).catch(() => {});
		await eventually("the first run", () => existsSync(file));
		await eventually("the spares again", async () => (await keepers.figures()).spares === 3);
		expect(readFileSync(file, "utf8")).toBe("run\n");
	});

	test("leaves no ghost behind: no directory, no process, no lost session for the next server", async () => {
		const site = await KeeperSite.create();
		const directory = join(site.directory, "sessions");
		let killed = 0;
		// As soon as its record is on disk, which is before its program runs, or while it does.
		const passed = (point: string) => {
			if (point !== "create.sent") return;
			const look = () => {
				const [id] = existsSync(directory) ? readdirSync(directory) : [];
				const file = id && join(directory, id, "session.json");
				if (!file || !existsSync(file)) return void setImmediate(look);
				killed = (JSON.parse(readFileSync(file, "utf8")) as SessionRecord).keeper.pid;
				process.kill(killed, "SIGKILL");
			};
			look();
		};
		const { keepers } = await site.open({ passed });
		await expect(keepers.start(shell("sleep 1000"))).rejects.toMatchObject({ code: "internal" });
		expect(killed).toBeGreaterThan(0);
		expect(await readdir(directory)).toEqual([]);
		expect((await site.open()).adopted).toEqual([]);
	});
});

describe("what is found at start", () => {
	test("of a newer version is reported and left untouched", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(startOf(["/bin/echo", "old"], { mode: "pipe" }));
		await itemsUntil(session, { offset: 0 });
		const { keeper } = await site.record(session.id);
		await first.keepers.close();
		await eventually("the keeper to leave", async () => !(await isAlive(keeper)));
		const file = join(site.directory, "sessions", session.id, "session.json");
		const newer = (await readFile(file, "utf8")).replace('"version":1', '"version":2');
		await writeFile(file, newer);
		const { adopted } = await site.open();
		expect(adopted).toEqual([]);
		expect(String((site.reports.at(-1) as Error).cause)).toContain("written by a newer version (2, this one reads 1)");
		expect(await readFile(file, "utf8")).toBe(newer);
	});

	test("as a stale socket is cleared away with its lost session", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(raw("exec cat"));
		const { keeper } = await site.record(session.id);
		await first.keepers.close();
		process.kill(keeper.pid, "SIGKILL");
		await eventually("the keeper's end", async () => !(await isAlive(keeper)));
		expect(await readdir(join(site.directory, "run"))).toHaveLength(1);
		const again = only((await site.open()).adopted);
		await eventually("the loss", () => again.state.status === "lost");
		expect(await readdir(join(site.directory, "run"))).toHaveLength(0);
	});
});
