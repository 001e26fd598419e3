/** Servers and keepers of two versions of the link: sessions stay readable, writable and killable both ways. */

import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Item } from "../../src/core/event.ts";
import { offer } from "../../src/core/offer.ts";
import type { Session } from "../../src/core/session.ts";
import { KeeperLink } from "../../src/keepers/keeper-link.ts";
import { Link } from "../../src/link/link.ts";
import { KeeperSite, keeperProgram } from "../helpers/keepers.ts";
import { buildLinkV1, type KeepersV1, type LinkV1, type SessionV1 } from "../helpers/link-v1.ts";
import { eventually, itemsUntil, outputUntil, PATIENCE_MS, textOf, write } from "../helpers/reading.ts";
import { rawShell, startOf } from "../helpers/starts.ts";

let v1: LinkV1;
beforeAll(async () => {
	v1 = await buildLinkV1();
});
afterAll(() => rm(v1.directory, { recursive: true, force: true }));

function serverV1(site: KeeperSite, generation: number): KeepersV1 {
	return new v1.server.Keepers({
		directory: join(site.directory, "sessions"),
		socketDirectory: join(site.directory, "run"),
		generation,
		spares: 0,
		fsync: "interval",
		maxDiskBytes: 2 ** 40,
		clock: v1.server.systemClock,
		newEpoch: () => randomBytes(8).toString("hex"),
		logFile: join(site.directory, "keepers.log"),
		report: (problem) => site.reports.push(problem),
		program: keeperProgram,
	});
}

async function readV1(session: SessionV1, pattern: RegExp): Promise<string> {
	const seen: Item[] = [];
	for await (const item of session.follow({ offset: 0 })) {
		seen.push(item);
		if (pattern.test(textOf(seen))) break;
	}
	return textOf(seen);
}

test("a keeper of the version before serves today's server", async () => {
	const site = await KeeperSite.create();
	const first = await site.open({ program: v1.keeper });
	const session = await first.keepers.start(rawShell("printf ready; read -r line; stty size; exec cat"));
	await outputUntil(session, /ready/);
	await session.act({ kind: "resize", size: { cols: 132, rows: 50 } });
	await write(session, "\n");
	await outputUntil(session, /50 132/);
	// More than one frame of version 1 takes, in one call.
	const bytes = Buffer.alloc(5_000_000, "x");
	const reading = itemsUntil(session, { offset: 0 }, (_, text) => text.length - text.indexOf("x") === bytes.length);
	await offer(session, { kind: "write", bytes }, { origin: { stream: "s", position: 0 }, until: "accepted" });
	await reading;
	const receipts: number[] = [];
	for await (const { written } of session.receipts("s")) {
		receipts.push(written);
		if (written === bytes.length) break;
	}
	await expect(session.scan()).rejects.toMatchObject({ code: "unsupported" });
	await expect(session.secret(Buffer.from("hunter2"), {})).rejects.toMatchObject({ code: "unsupported" });
	await expect(session.inspect()).rejects.toMatchObject({ code: "unsupported" });
	await expect(session.commands()).rejects.toMatchObject({ code: "unsupported" });
	await expect(session.untilWaiting(0)).rejects.toMatchObject({ code: "unsupported" });
	await expect(session.untilMuchDrawn(0)).rejects.toMatchObject({ code: "unsupported" });
	const live = itemsUntil(session, "end", (_, text) => text.includes("!"));
	const lossless = session.follow("end", { flow: "lossless" })[Symbol.asyncIterator]();
	const next = lossless.next();
	await eventually("both readers", async () => (await session.info()).attachments === 2);
	await write(session, "!");
	expect(textOf(await live)).toBe("!");
	expect((await next).value).toMatchObject({ kind: "output" });
	await lossless.return?.();
	await first.keepers.close();

	const [again] = (await site.open()).adopted as [Session];
	expect((await outputUntil(again, /!/)).length).toBeGreaterThan(bytes.length);
	await again.kill({ signal: "SIGKILL", by: "ana" });
	await eventually("the end", () => again.state.status === "closed");
	expect(again.state.exit).toMatchObject({ signal: "SIGKILL", by: "ana" });
});

test("a keeper of the version before is not asked what it would take for done, nor sent what it can't take", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open({ program: v1.keeper });
	const script = `# ${"x".repeat(100_000)}\nprintf ready`;
	await expect(keepers.start(startOf(["/bin/sh", "-c", script]))).rejects.toMatchObject({ code: "limit_exceeded" });
	const session = await keepers.start(rawShell("printf ready; exec cat"));
	await outputUntil(session, /ready/);
	const { keeper } = await site.record(session.id);
	const { link } = await KeeperLink.connect(keeper, 9, PATIENCE_MS);
	expect(link.can("receipts")).toBe(false);
	await expect(link.call({ do: "forgetStream", stream: "s" })).rejects.toMatchObject({ code: "unsupported" });
	expect(await link.ask<"end">({ do: "end" })).toEqual({ seq: 2, offset: 5 });
	link.close();
});

test("today's keeper refuses a question that it does not know", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const session = await keepers.start(rawShell("exec cat"));
	const { keeper } = await site.record(session.id);
	const heard: unknown[] = [];
	const link = Link.connect<unknown, unknown>(keeper.socket, {
		onFrame: ({ header }) => heard.push(header),
		onClose: () => {},
	});
	link.send({ hello: { versions: [3, 2], generation: 9, epoch: keeper.epoch } });
	await eventually("the welcome", () => heard.length === 1);
	expect(heard).toMatchObject([{ welcome: { version: 2, end: { seq: 1, offset: 0 } } }]);
	link.send({ id: 1, call: { do: "of tomorrow" } });
	link.send({ id: 2, call: { do: "end" } });
	await eventually("both answers", () => heard.length === 3);
	expect(heard).toContainEqual({
		id: 1,
		error: expect.objectContaining({ code: "unsupported", message: expect.stringContaining("of tomorrow") }),
	});
	expect(heard).toContainEqual({ id: 2, result: { seq: 1, offset: 0 } });
	link.close();
});

test("today's keeper serves a server of the version before", async () => {
	const site = await KeeperSite.create();
	const old = serverV1(site, 1);
	await old.open();
	const session = await old.start(rawShell("printf ready; exec cat"));
	await readV1(session, /ready/);
	expect(
		await session.act({ kind: "write", bytes: Buffer.from("abc") }, { origin: { stream: "s", position: 0 } }),
	).toMatchObject({
		next: 3,
	});
	expect(await session.receipt("s", 2)).toMatchObject({ next: 3, written: 3 });
	expect(await readV1(session, /abc/)).toBe("readyabc");
	await session.kill({ signal: "SIGKILL" });
	await eventually("the end", () => session.state.status === "closed");
	await old.forget(session, { isKilled: true });
	await old.close();
});

test("a session passes from a server of today to one of the version before, and back", async () => {
	const site = await KeeperSite.create();
	const first = await site.open();
	const started = await first.keepers.start(rawShell("printf one; exec cat"));
	await outputUntil(started, /one/);
	await first.keepers.close();

	const old = serverV1(site, 50);
	const [downgraded] = (await old.open()) as [SessionV1];
	await downgraded.act({ kind: "write", bytes: Buffer.from("two") });
	expect(await readV1(downgraded, /two/)).toBe("onetwo");
	await old.close();

	const [again] = (await site.open({ generation: 51 })).adopted as [Session];
	await write(again, "three");
	expect(await outputUntil(again, /three/)).toBe("onetwothree");
	await again.kill({ signal: "SIGKILL" });
});
