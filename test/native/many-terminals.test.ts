/** Terminals numbered 256 and higher, whose minor device numbers exceed eight bits. */

import { spawn as spawnChild } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { spawn } from "../../src/backends/spawn.ts";
import { systemClock } from "../../src/backends/system-clock.ts";
import { LocalSession } from "../../src/core/session/local-session.ts";
import { eventually, outputUntil } from "../support/reading.ts";
import { startOf } from "../support/starts.ts";

const TERMINALS = 320;
/** The first number whose minor exceeds eight bits. */
const FIRST_WIDE = 256;

/** Holds terminals until its input ends. */
const HOLDER = `
import os, sys
held = [os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY) for _ in range(${TERMINALS})]
print("held", flush=True)
sys.stdin.read()
`;

beforeAll(async () => {
	const holder = spawnChild("/usr/bin/python3", ["-c", HOLDER], { stdio: ["pipe", "pipe", "inherit"] });
	const [held] = await once(createInterface({ input: holder.stdout }), "line");
	expect(held).toBe("held");
	return async () => {
		const gone = once(holder, "exit");
		holder.stdin.end();
		await gone;
	};
});

/** Starts a script on a terminal with such a number; another process may free a lower one meanwhile. */
async function startOnWideTerminal(script: string): Promise<LocalSession> {
	return eventually(`a terminal with number ${FIRST_WIDE} or higher`, async () => {
		const session = await LocalSession.start(startOf(["bash", "-c", `tty; ${script}`]), { spawn, clock: systemClock });
		const [, number] = /\/dev\/pts\/(\d+)\r\n/.exec(await outputUntil(session, /\/dev\/pts\/\d+\r\n/)) ?? [];
		if (Number(number) >= FIRST_WIDE) {
			onTestFinished(() => session.kill({ graceMs: 0 }));
			return session;
		}
		await session.kill({ graceMs: 0 });
		return undefined;
	});
}

const wanted = [
	["a line", "cat", "waiting line", "cat"],
	["a line from /dev/tty", "cat </dev/tty", "waiting line", "cat"],
	["a secret", "read -s x", "waiting secret", "bash"],
	["a key", "python3 -c 'import sys, tty; tty.setraw(0); sys.stdin.read(1)'", "waiting key", "python3"],
	["a line in a terminal of its own", "script -qc cat /dev/null", "waiting line", "cat"],
] as const;

test.each(wanted)(
	"a program on a terminal numbered 256 or higher is seen to wait for %s",
	async (_, script, expected, front) => {
		const session = await startOnWideTerminal(script);
		await eventually(`${front} is ${expected}`, async () => {
			const { state, kind, program } = await session.inspect();
			return `${state} ${kind}` === expected && program === front;
		});
	},
);
