/** Silences of running programs. */

import { expect, onTestFinished, test } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { LocalSession } from "../../../src/core/session/local-session.ts";
import { nextQuietPeriod } from "../../../src/services/feed/silence.ts";
import { outputUntil, write } from "../../support/reading.ts";
import { shell } from "../../support/starts.ts";

const QUIET_MS = 200;

test("an answer begins a silence anew, so that the wait before it is none", async () => {
	const program = "stty raw -echo; printf ready; exec cat >/dev/null";
	const session = await LocalSession.start(shell(program), { spawn, clock: systemClock });
	onTestFinished(() => session.kill({ signal: "SIGKILL" }));
	await outputUntil(session, /ready/);
	const { offset } = await session.end();
	let isQuiet = false;
	const quiet = nextQuietPeriod(session, QUIET_MS, undefined, new AbortController().signal).finally(() => {
		isQuiet = true;
	});
	let typedAt = performance.now();
	// A pause between two writes may be longer than the silence on a busy machine: then it is one.
	let longestMs = 0;
	for (const begun = typedAt; performance.now() - begun < 3 * QUIET_MS; ) {
		await write(session, "x");
		longestMs = Math.max(longestMs, performance.now() - typedAt);
		typedAt = performance.now();
	}
	expect(isQuiet && longestMs < QUIET_MS).toBe(false);
	expect(await quiet).toBe(offset);
});
