import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, stat, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Session } from "../../../src/core/session/session.ts";
import { ReservedSpace } from "../../../src/disk/reserved-space.ts";
import { isAlive } from "../../../src/keeper/link/session-record.ts";
import { KeeperSite, only } from "../../support/keeper-site.ts";
import { brief, eventually, itemsUntil, outputUntil, textOf, write } from "../../support/reading.ts";
import { fill, withSmallDisk } from "../../support/small-disk.ts";
import { shell, startOf } from "../../support/starts.ts";

const DISK_BYTES = 1024 * 1024;
const BLOCK_BYTES = 4096;

test("a session on a full disk continues in memory, a new durable one is refused, and free space heals both", async () => {
	await withSmallDisk(DISK_BYTES, async (directory) => {
		const site = await KeeperSite.create(directory);
		const { keepers } = await site.open();
		const session = await keepers.start(shell("stty raw -echo; printf begin; exec cat"));
		await outputUntil(session, /begin/);
		const filler = await fill(directory);

		const sent = "x".repeat(8192);
		await write(session, sent);
		expect(await outputUntil(session, /x{8192}/)).toBe(`begin${sent}`);

		await expect(keepers.start(startOf(["/bin/true"]))).rejects.toMatchObject({
			code: "limit_exceeded",
			message: expect.stringContaining("disk is full"),
		});

		await rm(filler);
		const other = await keepers.start(startOf(["/bin/echo", "room"], { mode: "pipe" }));
		expect(textOf(await itemsUntil(other, { offset: 0 }))).toBe("room\n");
		await session.kill({ signal: "SIGKILL" });
		expect(textOf(await itemsUntil(session, { offset: 0 }))).toBe(`begin${sent}`);
		await site.close();
	});
});

test("when the keeper dies on a full disk, a reader gets a gap with the missing bytes and a lost session", async () => {
	await withSmallDisk(DISK_BYTES, async (directory) => {
		const site = await KeeperSite.create(directory);
		const { keepers } = await site.open();
		const session = await keepers.start(shell("stty raw -echo; printf begin; exec cat"));
		await outputUntil(session, /begin/);
		const filler = await fill(directory);
		const sent = "x".repeat(8192);
		await write(session, sent);
		await outputUntil(session, /x{8192}/);
		const { keeper } = await site.record(session.id);
		process.kill(keeper.pid, "SIGKILL");
		await eventually("the loss", () => session.state.status === "lost");
		const items = await itemsUntil(session, { offset: 5 });
		// A part may have fitted into the last block.
		const got = textOf(items);
		expect(sent.startsWith(got)).toBe(true);
		expect(items.map(brief).slice(-2)).toEqual([`gap ${5 + got.length}-8197 journal`, "lost"]);
		await rm(filler);
		await site.close();
	});
});

test("a start refused on a nearly full disk has not run its program, however many blocks are free", async () => {
	await withSmallDisk(DISK_BYTES, async (directory) => {
		const site = await KeeperSite.create(directory);
		const { keepers } = await site.open();
		const elsewhere = await mkdtemp(join(tmpdir(), "hawser-runs-"));
		onTestFinished(() => rm(elsewhere, { recursive: true }));
		const filler = await fill(directory);
		const { size } = await stat(filler);
		let refused = 0;
		for (let blocks = 0, started = 0; started < 4; blocks++) {
			await fill(directory);
			await truncate(filler, size - blocks * BLOCK_BYTES);
			const witness = join(elsewhere, String(blocks));
			// Hooks are the largest files that a start writes, and bash reads them before its prompt.
			const bash = startOf(["/bin/bash"]);
			const env = { ...bash.command.env, HOME: elsewhere, PROMPT_COMMAND: `echo ran >>${witness}` };
			const start = { ...bash, command: { ...bash.command, env } };
			const session = await keepers.start(start).catch((error: unknown) => error);
			if (session instanceof Error) {
				expect(session).toMatchObject({ code: "limit_exceeded", message: expect.stringContaining("disk is full") });
				expect(await readFile(witness, "utf8").catch(() => "never ran")).toBe("never ran");
				refused++;
			} else {
				await eventually("the program", () => stat(witness).catch(() => undefined));
				await (session as Session).kill({ signal: "SIGKILL", graceMs: 0 });
				await keepers.forget(session as Session, { isKilled: true });
				started++;
			}
		}
		expect(refused).toBeGreaterThan(0);
		await site.close();
	});
});

test("a slow reader whose keeper dies on a full disk gets a gap from its own position to the newest byte seen", async () => {
	await withSmallDisk(DISK_BYTES, async (directory) => {
		const site = await KeeperSite.create(directory);
		const { keepers } = await site.open();
		const retention = { memoryBytes: 8 * 1024 * 1024, journalBytes: 64 * 1024 * 1024 };
		const script = "stty raw -echo; printf begin; read -r go; seq 400000; printf over; exec cat";
		const session = await keepers.start(shell(script, { retention }));
		await outputUntil(session, /begin/);
		const filler = await fill(directory);
		const slow = session.follow({ offset: 0 }, { flow: "lossless" })[Symbol.asyncIterator]();
		const { value: first } = await slow.next();
		await write(session, "go\n");
		const seen = Buffer.from(await outputUntil(session, /over/), "latin1");
		const { keeper } = await site.record(session.id);
		process.kill(keeper.pid, "SIGKILL");
		await eventually("the loss", () => session.state.status === "lost");

		let offset = 0;
		let gaps = 0;
		let last = "";
		for (let item = first; item; item = (await slow.next()).value) {
			last = item.kind;
			expect(item.kind === "gap" ? item.from : item.offset).toBe(offset);
			if (item.kind === "gap") {
				gaps++;
				expect(item.to).toBeGreaterThan(item.from);
				offset = item.to;
			} else if (item.kind === "output") {
				expect(Buffer.compare(item.bytes, seen.subarray(offset, offset + item.bytes.byteLength))).toBe(0);
				offset += item.bytes.byteLength;
			}
		}
		expect({ offset, gaps, last }).toEqual({ offset: seen.byteLength, gaps: 1, last: "lost" });
		await rm(filler);
		await site.close();
	});
});

test("a reader that misses only a resize gets no gap when the keeper dies", async () => {
	await withSmallDisk(DISK_BYTES, async (directory) => {
		const site = await KeeperSite.create(directory);
		const { keepers } = await site.open();
		const session = await keepers.start(shell("stty raw -echo; printf begin; exec cat"));
		await outputUntil(session, /begin/);
		const filler = await fill(directory);
		await write(session, "x".repeat(8192));
		await outputUntil(session, /x{8192}/);
		await session.act({ kind: "resize", size: { cols: 90, rows: 30 } });
		const items = await itemsUntil(session, { offset: 0 }, ({ kind }) => kind === "resized");
		const resized = items.at(-1);
		if (resized?.kind !== "resized") throw new Error("no resize was seen");
		const { keeper } = await site.record(session.id);
		process.kill(keeper.pid, "SIGKILL");
		await eventually("the loss", () => session.state.status === "lost");
		const { seq, offset } = resized;
		expect((await itemsUntil(session, { seq, offset })).map(brief)).toEqual(["lost"]);
		await rm(filler);
		await site.close();
	});
});

describe("an end that was reported while the disk is full", () => {
	/** A session whose program ends once it reads a line, on a disk that is full from then on. */
	async function ended(directory: string, retention = { memoryBytes: 1024 * 1024, journalBytes: 1024 * 1024 }) {
		const site = await KeeperSite.create(directory);
		const reserve = new ReservedSpace(join(directory, "reserve"));
		await reserve.fill();
		const replace = (path: string, text: string) => reserve.write(path, text);
		const { keepers } = await site.open({ write: replace });
		const script = "stty raw -echo; printf begin; read -r go; head -c 8192 /dev/zero | tr '\\0' x; exit 3";
		const session = await keepers.start(shell(script, { retention }));
		await outputUntil(session, /begin/);
		const { keeper } = await site.record(session.id);
		if (retention.journalBytes > 0) await site.journaled(session);
		const filler = await fill(directory);
		const told: string[] = [];
		session.watch(({ status }) => told.push(status));
		await write(session, "go\n");
		await eventually("the end", () => session.state.status === "closed");
		expect((await session.info()).offsets.end).toBe(ALL.length);
		return { site, keepers, session, keeper, filler, told, replace };
	}

	const ALL = `begin${"x".repeat(8192)}`;
	const check = async (session: Session) => {
		expect(session.state).toMatchObject({ status: "closed", exit: { code: 3, signal: null } });
		expect(await session.info()).toMatchObject({
			status: "closed",
			exit: { code: 3, signal: null },
			offsets: { end: ALL.length },
		});
		const items = await itemsUntil(session, { offset: 0 });
		expect(items.at(-1)).toMatchObject({ kind: "closed", offset: ALL.length });
		// A part may have fitted into the last block.
		expect(ALL.startsWith(textOf(items))).toBe(true);
		const gaps = items.filter((item) => item.kind === "gap");
		expect(gaps.map(brief)).toEqual([expect.stringMatching(`^gap ${textOf(items).length}-${ALL.length} `)]);
	};

	test.each([1024 * 1024, 0])(
		"a reported end stays closed when the keeper is killed, with a journal of %i bytes",
		async (journalBytes) => {
			await withSmallDisk(DISK_BYTES, async (directory) => {
				const { site, session, keeper, filler, told } = await ended(directory, {
					memoryBytes: 1024 * 1024,
					journalBytes,
				});
				process.kill(keeper.pid, "SIGKILL");
				await eventually("what is left", async () => (await session.info()).pid === null);
				await check(session);
				expect(told.at(-1)).toBe("closed");
				expect(told).not.toContain("lost");
				expect(await site.open()).toMatchObject({ adopted: [{ state: { status: "closed", exit: { code: 3 } } }] });
				await rm(filler);
				await site.close();
			});
		},
	);

	test("a reported end stays closed for the next server, if the keeper is killed while no server runs", async () => {
		await withSmallDisk(DISK_BYTES, async (directory) => {
			const { site, keepers, session, keeper, filler, replace } = await ended(directory);
			await eventually("the server's note", () =>
				existsSync(join(directory, "sessions", session.id, "reported-end.json")),
			);
			await keepers.close();
			process.kill(keeper.pid, "SIGKILL");
			await eventually("the keeper's end", async () => !(await isAlive(keeper)));
			const again = only((await site.open({ write: replace })).adopted);
			expect(again.state).toMatchObject({ status: "closed", exit: { code: 3 } });
			await eventually("what is left", async () => (await again.info()).pid === null);
			await check(again);
			await rm(filler);
			await site.close();
		});
	});

	test("the keeper alone stores the end once there is space, and leaves no other file", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const session = await keepers.start(shell("printf fine"));
		const { keeper } = await site.record(session.id);
		await eventually("the keeper to leave", async () => !(await isAlive(keeper)));
		expect((await site.record(session.id)).ended).toMatchObject({ status: "closed" });
		expect(existsSync(join(site.directory, "sessions", session.id, "reported-end.json"))).toBe(false);
	});
});
