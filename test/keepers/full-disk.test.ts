import { rm } from "node:fs/promises";
import { expect, test } from "vitest";
import { KeeperSite } from "../helpers/keepers.ts";
import { brief, eventually, itemsUntil, outputUntil, textOf, write } from "../helpers/reading.ts";
import { fill, withSmallDisk } from "../helpers/small-disk.ts";
import { shell, startOf } from "../helpers/starts.ts";

const DISK_BYTES = 1024 * 1024;

test("a session on a full disk goes on in memory, a new durable one is refused, and room again heals both", async () => {
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

test("when the keeper dies while its disk is full, a reader is told which bytes are missing, and that the session is lost", async () => {
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
