/** A state directory that is copied, or replaced by a copy, while its sessions run. */

import { cp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Session } from "../../../src/core/session/session.ts";
import { isAlive, killIfThere } from "../../support/alive.ts";
import { KeeperSite, only } from "../../support/keeper-site.ts";
import { eventually, itemsUntil, outputUntil, write } from "../../support/reading.ts";
import { shell } from "../../support/starts.ts";

const ECHOING = "stty -echo; echo begin; while read x; do echo got $x; done";

/** Copies all sessions, except files in progress, which are renamed when complete. */
async function copySessions(from: string, to: string): Promise<void> {
	const filter = (path: string) => !path.endsWith(".new");
	await cp(join(from, "sessions"), join(to, "sessions"), { recursive: true, filter });
}

/** Starts a program that ends at once and leaves a process behind; returns the process's id. */
async function startLeaving(site: KeeperSite): Promise<{ session: Session; left: number }> {
	const { keepers } = await site.open();
	const session = await keepers.start(shell("trap '' HUP; sleep 1000 </dev/null >/dev/null 2>&1 & echo left $!"));
	const [, left] = /left (\d+)/.exec(await outputUntil(session, /left \d+/)) ?? [];
	onTestFinished(() => killIfThere(Number(left)));
	await itemsUntil(session, { offset: 0 });
	await site.journaled(session);
	return { session, left: Number(left) };
}

test.each([
	["a runtime directory of its own", false],
	["the original's runtime directory", true],
])("a server on a copy, with %s, leaves the keepers and programs of the original alone", async (_, isShared) => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const session = await keepers.start(shell(ECHOING));
	await outputUntil(session, /begin/);

	const copy = await KeeperSite.create();
	await copySessions(site.directory, copy.directory);
	const socketDirectory = join((isShared ? site : copy).directory, "run");
	const { adopted } = await copy.open({ generation: 100, socketDirectory });
	expect(adopted.map(({ id, state }) => [id, state.status])).toEqual([[session.id, "lost"]]);
	const items = adopted[0] ? await itemsUntil(adopted[0], { offset: 0 }) : [];
	expect(items.at(-1)).toMatchObject({ kind: "lost", message: expect.stringContaining("this is a copy") });
	expect(String(copy.reports[0])).toContain("belongs to the original");

	await write(session, "one\n");
	await outputUntil(session, /got one/);
	// The next servers on both directories see the same.
	await keepers.close();
	const [again] = (await site.open()).adopted;
	if (!again) throw new Error("the session was not found again");
	await write(again, "two\n");
	await outputUntil(again, /got two/);
	const [still] = (await copy.open({ generation: 101, socketDirectory })).adopted;
	expect(still?.state.status).toBe("lost");
	await again.kill({ signal: "SIGKILL", graceMs: 0 });
});

test.each([
	["running", false],
	["running", true],
	["ended, with a process left behind,", false],
	["ended, with a process left behind,", true],
])("deleting the copy of a session that is %s (force: %s) ends no process of the original", async (which, isForced) => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const { session, left } =
		which === "running" ? { session: await keepers.start(shell(ECHOING)), left: undefined } : await startLeaving(site);
	if (which === "running") await outputUntil(session, /begin/);
	const { keeper } = await site.record(session.id);

	const copy = await KeeperSite.create();
	await copySessions(site.directory, copy.directory);
	const { keepers: copied, adopted } = await copy.open({ generation: 100 });
	await only(adopted).kill({ signal: "SIGKILL", graceMs: 0 });
	await copied.forget(only(adopted), { isKilled: true, isForced });
	expect(await readdir(join(copy.directory, "sessions"))).toEqual([]);

	expect(isAlive(keeper.pid)).toBe(true);
	if (left !== undefined) return expect(isAlive(left)).toBe(true);
	await write(session, "one\n");
	await outputUntil(session, /got one/);
	expect(site.reports).toEqual([]);
});

test.each([false, true])(
	"a session whose directory was replaced by a copy is reported, and deleting it (force: %s) ends its keeper and its program",
	async (isForced) => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const session = await keepers.start(shell(ECHOING));
		await outputUntil(session, /begin/);
		const { keeper } = await site.record(session.id);
		const { pid } = await session.info();
		await keepers.close();
		const backup = await KeeperSite.create();
		await copySessions(site.directory, backup.directory);
		await rm(join(site.directory, "sessions"), { recursive: true });
		await copySessions(backup.directory, site.directory);

		const next = await site.open();
		expect(site.reports.map(String)).toEqual([
			expect.stringMatching(
				new RegExp(
					`session ${session.id} has a running keeper and program whose directory was replaced.*process ${keeper.pid}`,
				),
			),
		]);
		const items = await itemsUntil(only(next.adopted), { offset: 0 });
		expect(items.at(-1)).toMatchObject({
			kind: "lost",
			message: expect.stringContaining("its directory was replaced"),
		});
		expect(isAlive(keeper.pid)).toBe(true);
		expect(isAlive(pid ?? 0)).toBe(true);
		await next.keepers.forget(only(next.adopted), { isKilled: true, isForced });
		expect(isAlive(keeper.pid)).toBe(false);
		expect(isAlive(pid ?? 0)).toBe(false);
		expect(await readdir(join(site.directory, "sessions"))).toEqual([]);
	},
);

test("a keeper whose directory was replaced continues with its server, also over a new link, and writes nothing into the copy", async () => {
	const site = await KeeperSite.create();
	const first = await site.open();
	const started = await first.keepers.start(shell(ECHOING));
	await outputUntil(started, /begin/);
	await first.keepers.close();
	const proxy = await site.proxy(started.id, () => undefined);
	const session = only((await site.open()).adopted);
	await site.journaled(session);
	await eventually("the state on disk", async () => (await site.record(session.id)).end);
	const sessions = join(site.directory, "sessions");
	const copy = await KeeperSite.create();
	await copySessions(site.directory, copy.directory);
	const before = await site.record(session.id);
	await rename(sessions, join(site.directory, "moved"));
	await copySessions(copy.directory, site.directory);

	proxy.cutAll();
	await session.end();
	await session.act({ kind: "resize", size: { cols: 90, rows: 30 } });
	await write(session, "one\n");
	await outputUntil(session, /got one/);
	expect(await site.record(session.id)).toEqual(before);
	expect(isAlive((await session.info()).pid ?? 0)).toBe(true);
	await session.kill({ signal: "SIGKILL", graceMs: 0 });
});

test.each(["deleted", "replaced"])("a server reports that the directory of a running session was %s", async (how) => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const session = await keepers.start(shell(ECHOING));
	await outputUntil(session, /begin/);
	await site.journaled(session);
	await eventually("the state on disk", async () => (await site.record(session.id)).end);
	const sessions = join(site.directory, "sessions");
	if (how === "deleted") await rm(join(sessions, session.id), { recursive: true });
	else {
		const copy = await KeeperSite.create();
		await copySessions(site.directory, copy.directory);
		await rename(sessions, join(site.directory, "moved"));
		await copySessions(copy.directory, site.directory);
	}
	await eventually("the report", () => site.reports.length > 0, 20_000);
	expect(site.reports.map(String)).toEqual([expect.stringContaining(`session ${session.id}: `)]);
	expect(String(site.reports[0])).toContain("was deleted or replaced; its keeper and program continue");
	await write(session, "one\n");
	await outputUntil(session, /got one/);
	if (how === "deleted") {
		await expect(keepers.rename(session, "new")).rejects.toMatchObject({
			code: "node_unavailable",
			message: expect.stringContaining("was deleted or moved"),
		});
	}
	await keepers.forget(session, { isKilled: true });
});

test("a server that finds a session in a directory that was moved reports nothing", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const started = await keepers.start(shell(ECHOING));
	await outputUntil(started, /begin/);
	await site.record(started.id);
	await keepers.close();
	const moved = await KeeperSite.create();
	await rename(join(site.directory, "sessions"), join(moved.directory, "sessions"));
	const session = only((await moved.open()).adopted);
	await write(session, "one\n");
	await outputUntil(session, /got one/);
	await moved.journaled(session);
	expect(moved.reports).toEqual([]);
	await session.kill({ signal: "SIGKILL", graceMs: 0 });
});
