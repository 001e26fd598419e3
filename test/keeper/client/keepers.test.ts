/** Durable sessions as a server has them: started, found again, and passed on to the next server. */

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Item } from "../../../src/core/log/event.ts";
import type { Session } from "../../../src/core/session/session.ts";
import { isAlive } from "../../../src/keeper/link/session-record.ts";
import { KeeperSite, only } from "../../support/keeper-site.ts";
import { brief, eventually, itemsUntil, outputUntil, PATIENCE_MS, textOf, write } from "../../support/reading.ts";
import { rawShell, shell, startOf } from "../../support/starts.ts";

describe("a session in a keeper", () => {
	test("a session in a keeper is read, written, resized and ended like any other", async () => {
		const { keepers } = await (await KeeperSite.create()).open();
		const session = await keepers.start(
			rawShell("printf ready; read -r line; printf '%s' \"$line\"; stty size; exit 7"),
		);
		await outputUntil(session, /ready/);
		await session.act({ kind: "resize", size: { cols: 132, rows: 50 } });
		await write(session, "hello\n");
		const items = await itemsUntil(session, { offset: 0 });
		expect(textOf(items)).toMatch(/^readyhello50 132\r?\n$/);
		expect(items.map(({ kind }) => kind).filter((kind) => kind !== "output")).toEqual(["resized", "exited", "closed"]);
		expect(items).toContainEqual(expect.objectContaining({ kind: "exited", exit: { code: 7, signal: null } }));
		expect(session.state).toMatchObject({ status: "closed", size: { cols: 132, rows: 50 }, exit: { code: 7 } });
	});

	test("a session continues while no server runs, and the next server finds it complete", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(
			rawShell("printf one; read -r line; printf two; read -r line; printf three"),
		);
		await outputUntil(session, /one/);
		const { pid } = await session.summary(PATIENCE_MS);
		await write(session, "\n");
		await first.keepers.close();

		const second = await site.open();
		const again = only(second.adopted);
		expect(await outputUntil(again, /two/)).toBe("onetwo");
		expect(await again.info()).toMatchObject({ id: session.id, pid, status: "running" });
		await write(again, "\n");
		expect((await itemsUntil(again, { offset: 0 })).map(brief)).toEqual(
			expect.arrayContaining([expect.stringContaining("three"), "exited", "closed"]),
		);
	});

	test("a keeper answers terminal queries while no server runs and no terminal answers", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const gone = join(site.directory, "gone");
		// Repeated until answered: a query at the moment of the server's end stays unanswered, because a terminal may have
		// seen it.
		const asked = "printf 'ask\\033[c' >/dev/tty; dd bs=1 count=9 2>/dev/null | tr '\\033' E";
		const ask = `stty min 0 time 5; until r=$(${asked}) && [ -n "$r" ]; do :; done; stty min 1 time 0; printf %s "$r"`;
		const session = await first.keepers.start(
			shell(
				`stty raw -echo; printf one; while [ ! -e '${gone}' ]; do :; done; ${ask}; printf two; read -r go; ${ask}`,
				{
					answersQueries: true,
				},
			),
		);
		await outputUntil(session, /one/);
		await session.ask<"replies">({ do: "replies", by: "terminal" });
		await first.keepers.close();
		await writeFile(gone, "");
		const again = only((await site.open()).adopted);
		expect((await outputUntil(again, /two/)).replace(/(ask\u001b\[c)+/, "asked ")).toBe("oneasked E[?62;22ctwo");
		await write(again, "\n");
		await outputUntil(again, /two.*c.*22c$/);
	});

	test("a session that ended while no server ran is read from its journal", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(rawShell("printf start; read -r line; printf end; exit 3"));
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

	test("a session on pipes has no terminal after its end either, when its keeper is gone", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const session = await keepers.start(startOf(["/bin/true"], { mode: "pipe" }));
		const { keeper } = await site.record(session.id);
		await eventually("the keeper to leave", async () => !(await isAlive(keeper)));
		await expect(session.scan()).rejects.toMatchObject({ code: "unsupported" });
		await expect(session.untilRedrawDue(0)).rejects.toMatchObject({ code: "unsupported" });
	});

	test("a reader continues from the keeper to the journal when the keeper exits", async () => {
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

	test("a stream accepts each byte once, through different servers", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(rawShell("printf R; exec cat"));
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

	test("a lease keeps its fence across a change of servers", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(rawShell("exec cat"));
		const lease = await session.acquire("ana", { exclusive: true, take: false });
		await expect(write(session, "no")).rejects.toMatchObject({ code: "not_writable" });
		await first.keepers.close();
		const again = only((await site.open()).adopted);
		await again.act({ kind: "write", bytes: Buffer.from("still hers") }, { fence: lease.fence });
		const taken = await again.acquire("ben", { exclusive: true, take: true });
		expect(taken.fence).toBeGreaterThan(lease.fence);
		await expect(again.act({ kind: "eof" }, { fence: lease.fence })).rejects.toMatchObject({ code: "not_writable" });
	});

	test("a session without a journal stays in its keeper's memory until it is forgotten", async () => {
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

describe("a failed start", () => {
	test("a failed start reports the reason, leaves nothing behind, and keeps the spare", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open({ spares: 1 });
		await eventually("the spare", async () => (await readdir(join(site.directory, "run"))).length === 1);
		const [spare] = await readdir(join(site.directory, "run"));
		await expect(keepers.start(startOf(["/no/such/program"]))).rejects.toMatchObject({
			code: "spawn_failed",
			message: expect.stringContaining("ENOENT"),
		});
		expect(await readdir(join(site.directory, "sessions"))).toEqual([]);
		const session = await keepers.start(rawShell("exec cat"));
		const { keeper } = await site.record(session.id);
		expect([spare, await readdir(join(site.directory, "run"))].flat()).toContain(`${keeper.epoch}.sock`);
	});
});

describe("leftovers at the server's start", () => {
	test("a session of a newer version is reported and left unchanged", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(startOf(["/bin/echo", "old"], { mode: "pipe" }));
		await itemsUntil(session, { offset: 0 });
		const { keeper } = await site.record(session.id);
		await first.keepers.close();
		await eventually("the keeper to leave", async () => !(await isAlive(keeper)));
		const file = join(site.directory, "sessions", session.id, "session.json");
		const newer = (await readFile(file, "utf8")).replace('"version":2', '"version":3');
		await writeFile(file, newer);
		const { adopted } = await site.open();
		expect(adopted).toEqual([]);
		expect(String((site.reports.at(-1) as Error).cause)).toContain("written by a newer version (3; this one reads 2)");
		expect(await readFile(file, "utf8")).toBe(newer);
	});

	test("a stale socket is removed with its lost session", async () => {
		const site = await KeeperSite.create();
		const first = await site.open();
		const session = await first.keepers.start(rawShell("exec cat"));
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
