/** Waits during a flood of output that is faster than the reader. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Session } from "../../../src/core/session/session.ts";
import { TextMatcher, type WaitConditions, waitFor } from "../../../src/services/waits/wait.ts";
import { KeeperSite } from "../../support/keeper-site.ts";
import { outputUntil, write } from "../../support/reading.ts";
import { shell } from "../../support/starts.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

/** Some megabytes at once. */
const flood = (letter: string) => `head -c 3000000 /dev/zero | tr '\\0' ${letter}`;

async function flooding(script: string): Promise<{ session: Session; isOver: () => boolean }> {
	const home = await temporaryDirectory();
	const { keepers } = await (await KeeperSite.create()).open();
	const start = shell(`printf a; read go; ${script}; touch over; read end`, { mode: "pipe", cwd: home });
	return { session: await keepers.start(start), isOver: () => existsSync(join(home, "over")) };
}

function wait(session: Session, causes: WaitConditions, flow: "lossless" | "live") {
	return waitFor(session, causes, { from: 0, timeoutMs: 25_000, signal: new AbortController().signal, flow });
}

/** A session whose output is read only after all of it is written. */
function standStill(isOver: () => boolean): void {
	const cell = new Int32Array(new SharedArrayBuffer(4));
	for (let looks = 0; looks < 2_000 && !isOver(); looks++) Atomics.wait(cell, 0, 0, 5);
}

test("a caller that may operate a session misses no match in a flood", async () => {
	const { session, isOver } = await flooding(`${flood("x")}; echo needle; ${flood("y")}`);
	const found = wait(session, { match: new TextMatcher("needle") }, "lossless");
	await outputUntil(session, /a/);
	await write(session, "\n");
	// The typed input is on its way.
	await nextTurn();
	standStill(isOver);
	expect(await found).toBe("match");
});

test("text before and after a gap does not match together", async () => {
	const { session, isOver } = await flooding(`${flood("x")}; printf -- -; ${flood("y")}; echo`);
	const found = wait(session, { match: new TextMatcher("xy") }, "live");
	await outputUntil(session, /a/);
	await write(session, "\n");
	await nextTurn();
	standStill(isOver);
	// Until all output has been searched.
	await outputUntil(session, /y\n$/);
	await session.kill({ graceMs: 0 });
	expect(await found).toBe("exit");
});
