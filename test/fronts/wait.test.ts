/** Waits for what a session writes, while it writes more than the one who waits can take at once. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Session } from "../../src/core/session.ts";
import { type Causes, TextMatcher, waitFor } from "../../src/fronts/wait.ts";
import { KeeperSite } from "../helpers/keepers.ts";
import { outputUntil, write } from "../helpers/reading.ts";
import { shell } from "../helpers/starts.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

/** Some megabytes in a moment. */
const flood = (letter: string) => `head -c 3000000 /dev/zero | tr '\\0' ${letter}`;

async function flooding(script: string): Promise<{ session: Session; isOver: () => boolean }> {
	const home = await temporaryDirectory();
	const { keepers } = await (await KeeperSite.create()).open();
	const start = shell(`printf a; read go; ${script}; touch over; read end`, { mode: "pipe", cwd: home });
	return { session: await keepers.start(start), isOver: () => existsSync(join(home, "over")) };
}

function wait(session: Session, causes: Causes, flow: "lossless" | "live") {
	return waitFor(session, causes, { from: 0, timeoutMs: 25_000, signal: new AbortController().signal, flow });
}

/** While the program writes on, nothing that it wrote is taken. */
function standStill(isOver: () => boolean): void {
	const cell = new Int32Array(new SharedArrayBuffer(4));
	for (let looks = 0; looks < 2_000 && !isOver(); looks++) Atomics.wait(cell, 0, 0, 5);
}

test("who may operate a session misses no match, however much is written around it", async () => {
	const { session, isOver } = await flooding(`${flood("x")}; echo needle; ${flood("y")}`);
	const found = wait(session, { match: new TextMatcher("needle") }, "lossless");
	await outputUntil(session, /a/);
	await write(session, "\n");
	// What was typed is on its way.
	await nextTurn();
	standStill(isOver);
	expect(await found).toBe("match");
});

test("text before and after a gap is not taken for one", async () => {
	const { session, isOver } = await flooding(`${flood("x")}; printf -- -; ${flood("y")}; echo`);
	const found = wait(session, { match: new TextMatcher("xy") }, "live");
	await outputUntil(session, /a/);
	await write(session, "\n");
	await nextTurn();
	standStill(isOver);
	// Until all that there is was looked at.
	await outputUntil(session, /y\n$/);
	await session.kill({ graceMs: 0 });
	expect(await found).toBe("exit");
});
