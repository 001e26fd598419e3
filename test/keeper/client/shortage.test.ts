// @module-tag apart

/**
 * A server without free descriptors can't check its keepers, and must not take them for dead. Runs in a process of its
 * own.
 */

import { execFileSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { systemClock } from "../../../src/backends/system-clock.ts";
import type { Clock } from "../../../src/core/async/clock.ts";
import type { Session } from "../../../src/core/session/session.ts";
import { isAlive } from "../../../src/keeper/link/session-record.ts";
import { KeeperSite } from "../../support/keeper-site.ts";
import { eventually, itemsUntil, outputUntil, PATIENCE_MS, textOf, write } from "../../support/reading.ts";
import { shell } from "../../support/starts.ts";

const setLimit = (soft: number) => execFileSync("prlimit", ["--pid", String(process.pid), `--nofile=${soft}:`]);
const opened: number[] = [];
afterEach(() => {
	for (const fd of opened.splice(0)) closeSync(fd);
	setLimit(10_000);
});

function takeAll(): void {
	try {
		for (;;) opened.push(openSync("/dev/null", "r"));
	} catch {
		// None is left.
	}
}

test("a session whose link breaks without free descriptors is found again later, with its program and all output", async () => {
	const site = await KeeperSite.create();
	const first = await site.open();
	const { id } = await first.keepers.start(shell("stty raw -echo; printf on; exec cat"));
	await first.keepers.close();
	const proxy = await site.proxy(id, () => undefined);
	let waits = 0;
	const clock: Clock = {
		...systemClock,
		after: (ms, callback) => {
			waits++;
			return systemClock.after(ms, callback);
		},
	};
	const [session] = (await site.open({ clock })).adopted as [Session];
	await outputUntil(session, /on/);
	const { keeper } = await site.record(id);
	const { pid } = await session.summary(PATIENCE_MS);

	setLimit(200);
	takeAll();
	proxy.cutAll();
	const waitsBefore = waits;
	// Also uses up the descriptors that the broken link released.
	await eventually("several tries", () => {
		takeAll();
		return waits > waitsBefore + 5;
	});
	expect(session.state.status).toBe("running");
	expect(await session.summary()).toMatchObject({ status: "running", unreachable: true, pid });
	for (const fd of opened.splice(0)) closeSync(fd);

	await write(session, "!");
	expect(await outputUntil(session, /!/)).toBe("on!");
	expect(await isAlive(keeper)).toBe(true);
	expect(await session.info()).toMatchObject({ status: "running", pid });
	await session.kill({ signal: "SIGKILL" });
	expect(textOf(await itemsUntil(session, { offset: 0 }))).toBe("on!");
});

test("an ended session can be read as soon as there are descriptors", async () => {
	const site = await KeeperSite.create();
	const first = await site.open();
	const { id } = await first.keepers.start(shell("printf done"));
	const { keeper } = await site.record(id);
	await first.keepers.close();
	await eventually("the keeper to leave", async () => !(await isAlive(keeper)));
	const [session] = (await site.open()).adopted as [Session];
	setLimit(200);
	takeAll();
	const message = "the server has too many files open (EMFILE)";
	await expect(session.end()).rejects.toMatchObject({ code: "limit_exceeded", message });
	takeAll();
	await expect(itemsUntil(session, { offset: 0 })).rejects.toMatchObject({ code: "limit_exceeded", message });
	takeAll();
	expect(await session.summary()).toMatchObject({ status: "closed", offsets: null, unreachable: true });
	for (const fd of opened.splice(0)) closeSync(fd);
	expect(textOf(await itemsUntil(session, { offset: 0 }))).toBe("done");
});

test("a start without enough descriptors is refused as a limit, at every step", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	setLimit(200);
	takeAll();
	const refusals: unknown[] = [];
	// From none to enough, one more each time, so that every step fails once.
	const session = await eventually("a start", async () => {
		const started = await keepers.start(shell("exec cat")).catch((error: unknown) => error);
		if (!(started instanceof Error)) return started as Session;
		refusals.push(started);
		closeSync(opened.pop() ?? -1);
		return undefined;
	});
	expect(refusals.length).toBeGreaterThan(2);
	for (const refusal of refusals) {
		const message = "cannot start a keeper: the server has too many files open (EMFILE)";
		expect(refusal).toMatchObject({ code: "limit_exceeded", message, hint: expect.stringContaining("ulimit -n") });
	}
	for (const fd of opened.splice(0)) closeSync(fd);
	await session.kill({ signal: "SIGKILL" });
});
