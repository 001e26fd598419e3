/** Servers and keepers of different versions of the link. */

import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Session } from "../../../src/core/session/session.ts";
import { shellText } from "../../../src/core/shell/shell-text.ts";
import { openForReading } from "../../../src/journal/journal-reader.ts";
import { Link } from "../../../src/keeper/link/link.ts";
import { journalDirectory } from "../../../src/keeper/link/session-record.ts";
import { buildFrozenKeeper } from "../../support/frozen-keeper.ts";
import { KeeperSite } from "../../support/keeper-site.ts";
import { eventually, itemsUntil, outputUntil, textOf, write } from "../../support/reading.ts";
import { rawShell, startOf } from "../../support/starts.ts";

let frozen: ReturnType<typeof buildFrozenKeeper>;
beforeAll(() => {
	frozen = buildFrozenKeeper();
});
afterAll(() => rm(frozen.directory, { recursive: true, force: true }));

test("a server reads, writes, resizes and ends a session in a keeper of 0.1.0, also after a restart of the server", async () => {
	const site = await KeeperSite.create();
	const first = await site.open({ program: frozen.program });
	const session = await first.keepers.start(rawShell("printf ready; read -r line; stty size; exec cat"));
	await outputUntil(session, /ready/);
	await session.act({ kind: "resize", size: { cols: 132, rows: 50 } });
	await write(session, "\n");
	await outputUntil(session, /50 132/);
	const origin = { stream: "s", position: 0 };
	expect(await session.act({ kind: "write", bytes: Buffer.from("abc") }, { origin })).toMatchObject({ next: 3 });
	expect(await session.act({ kind: "write", bytes: Buffer.from("abc") }, { origin })).toMatchObject({ next: 3 });
	await eventually("the echo", async () => (await outputUntil(session, /abc/)).split("abc").length === 2);
	expect(await session.scan()).toMatchObject({});
	expect((await session.inspect()).pid).toBeGreaterThan(0);
	await first.keepers.close();

	const [again] = (await site.open()).adopted as [Session];
	expect(await outputUntil(again, /abc/)).toMatch(/^ready\s*50 132\s*abc$/);
	await write(again, "more");
	const live = itemsUntil(again, { offset: 0 }, (_, text) => text.includes("more"));
	expect(textOf(await live)).toContain("abcmore");
	await again.kill({ signal: "SIGKILL", by: "ana" });
	await eventually("the end", () => again.state.status === "closed");
	expect(again.state.exit).toMatchObject({ signal: "SIGKILL", by: "ana" });
});

test("a command runs in the hooked shell of a keeper of 0.1.0, with its exact exit code", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open({ program: frozen.program });
	const start = startOf(["bash"], { cwd: site.directory, shellHooks: true, answersQueries: true });
	const env = { ...start.command.env, HOME: site.directory, TERM: "xterm-256color" };
	const session = await keepers.start({ ...start, command: { ...start.command, env } });
	const answer = await session.run({ command: "echo it ran; (exit 3)", timeoutMs: 20_000, options: {} });
	expect(answer).toMatchObject({ status: "ended", exact: true, exitCode: 3 });
	const items = await itemsUntil(session, { offset: 0 }, (_, text) => text.includes("it ran\r\n"));
	expect(shellText(Buffer.from(textOf(items)))).toContain("it ran\n");
});

test("a session in a keeper of 0.1.0 that is killed is lost, and its output stays readable", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open({ program: frozen.program });
	const session = await keepers.start(rawShell("printf ready; exec cat"));
	await outputUntil(session, /ready/);
	const journal = journalDirectory(join(site.directory, "sessions", session.id));
	await eventually("the output on disk", async () => (await openForReading(journal)).end.offset === 5);
	const { keeper } = await site.record(session.id);
	process.kill(keeper.pid, "SIGKILL");
	await eventually("the loss", () => session.state.status === "lost");
	const items = await itemsUntil(session, { offset: 0 });
	expect(textOf(items)).toBe("ready");
	expect(items.at(-1)).toMatchObject({ kind: "lost" });
});

test("a keeper answers a request that it does not know with unsupported, and serves the others", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const session = await keepers.start(rawShell("exec cat"));
	const { keeper } = await site.record(session.id);
	const received: unknown[] = [];
	const link = Link.connect<unknown, unknown>(keeper.socket, {
		onFrame: ({ header }) => received.push(header),
		onClose: () => {},
	});
	link.send({ hello: { versions: [4, 3], generation: 9, epoch: keeper.epoch } });
	await eventually("the welcome", () => received.length === 1);
	expect(received).toMatchObject([
		{ welcome: { version: 3, session: { id: session.id, end: { seq: 1, offset: 0 } } } },
	]);
	link.send({ id: 1, call: { do: "of tomorrow" } });
	link.send({ id: 2, call: { do: "end" } });
	await eventually("both answers", () => received.length === 3);
	expect(received).toContainEqual({
		id: 1,
		error: expect.objectContaining({ code: "unsupported", message: expect.stringContaining("of tomorrow") }),
	});
	expect(received).toContainEqual({ id: 2, result: { seq: 1, offset: 0 } });
	link.close();
});

test("a keeper refuses a server without a common version of the link, and its session continues", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const session = await keepers.start(rawShell("exec cat"));
	const { keeper } = await site.record(session.id);
	const received: unknown[] = [];
	let isClosed = false;
	const link = Link.connect<unknown, unknown>(keeper.socket, {
		onFrame: ({ header }) => received.push(header),
		onClose: () => {
			isClosed = true;
		},
	});
	link.send({ hello: { versions: [2, 1], generation: 9, epoch: keeper.epoch } });
	await eventually("the end of the link", () => isClosed);
	expect(received).toEqual([
		{
			refused: {
				code: "unsupported",
				message: "no common version of the link: the server speaks 2, 1, this keeper 3",
			},
		},
	]);
	expect(await session.end()).toEqual({ seq: 1, offset: 0 });
});

test("a record of an older version is reported with what to do, and stays as it is", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const session = await keepers.start(rawShell("exec cat"));
	const file = join(site.directory, "sessions", session.id, "session.json");
	// The keeper writes its record again after the program has started.
	await eventually("the last record", async () => (await site.record(session.id)).state !== undefined);
	await keepers.close();
	const written = await readFile(file, "utf8");
	const older = JSON.stringify({ ...JSON.parse(written), version: 1 });
	await writeFile(file, older);
	expect((await site.open()).adopted).toEqual([]);
	expect((site.reports.at(-1) as Error).cause).toMatchObject({
		code: "unsupported",
		message: `${file} was written by an older version (1; this one reads 2)`,
		hint: "nothing was changed; end the session with the older server",
	});
	expect(await readFile(file, "utf8")).toBe(older);
	// Restored, so that the next server ends the program.
	await writeFile(file, written);
	expect((await site.open()).adopted).toMatchObject([{ id: session.id }]);
});
