// @module-tag apart

/** Exhausted resources; in a process of its own. */

import { execFileSync } from "node:child_process";
import { closeSync, openSync, readdirSync, readlinkSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { spawn } from "../../src/backends/spawn.ts";
import { eventually, Run } from "../support/run-program.ts";

const setLimit = (soft: number) => execFileSync("prlimit", ["--pid", String(process.pid), `--nofile=${soft}:`]);
afterEach(() => setLimit(10_000));

test.each(["pty", "pipe"] as const)(
	"without a free descriptor a %s is refused as a limit, leaves nothing behind, and works again later",
	async (mode) => {
		const first = await (await Run.start(spawn, ["true"], { mode })).closed();
		// Until its minder and our end of its socket are gone.
		await first.process.kill();
		await eventually(() => readdirSync("/proc/self/fd").every((fd) => !isTerminal(fd)));
		const before = readdirSync("/proc/self/fd").length;
		const running = await Run.start(spawn, ["sleep", "1000"], { mode });
		const withRunning = readdirSync("/proc/self/fd").length;
		const opened: number[] = [];
		setLimit(100);
		// From none to enough, one more each time, so that every step of a start fails once.
		for (let fd = open(); fd >= 0; fd = open()) opened.push(fd);
		const seen: string[] = [];
		for (let free = 0; free < 12; free++) {
			const outcome = await Run.start(spawn, ["true"], { mode }).catch((error) => `${error.code}: ${error.message}`);
			seen.push(typeof outcome === "string" ? outcome : "started");
			if (typeof outcome !== "string") await outcome.closed();
			closeSync(opened.pop() ?? -1);
		}
		expect(seen[0]).toBe('limit_exceeded: cannot start "true": the server has too many files open (EMFILE)');
		expect(new Set(seen)).toEqual(new Set([seen[0], "started"]));
		expect(seen.at(-1)).toBe("started");

		// The thread that reads a terminal closes it slightly later.
		await eventually(() => readdirSync("/proc/self/fd").length === withRunning + opened.length);
		// Ending a program needs no descriptor.
		for (let fd = open(); fd >= 0; fd = open()) opened.push(fd);
		await running.process.kill({ graceMs: 0 });
		expect(running.exit).toEqual({ code: null, signal: "SIGKILL" });
		for (const fd of opened.splice(0)) closeSync(fd);
		await eventually(() => readdirSync("/proc/self/fd").length === before);
	},
);

function isTerminal(fd: string): boolean {
	try {
		return readlinkSync(`/proc/self/fd/${fd}`).includes("ptmx");
	} catch {
		return false;
	}
}

function open(): number {
	try {
		return openSync("/dev/null", "r");
	} catch {
		return -1;
	}
}
