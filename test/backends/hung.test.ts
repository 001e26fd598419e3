/** A directory or a program on a file server that is away. */

import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { spawn } from "../../src/backends/spawn.ts";
import type { Order } from "../../src/native/minder.ts";
import { startProgram } from "../helpers/programs.ts";
import { eventually, Run } from "./run.ts";

/** A file system whose server never answers: nobody reads what the kernel asks of it. */
function mountAway(): string {
	const folder = mkdtempSync(join(tmpdir(), "hawser-hung-"));
	const device = openSync("/dev/fuse", constants.O_RDWR);
	const options = "fd=3,rootmode=40000,user_id=0,group_id=0";
	execFileSync("mount", ["-i", "-t", "fuse", "-o", options, "away", folder], { stdio: [0, 1, 2, device] });
	onTestFinished(() => {
		// Whoever still waits is told that there is no answer.
		closeSync(device);
		execFileSync("umount", ["-l", folder]);
		rmSync(folder, { recursive: true });
	});
	return folder;
}

/** A session's minders, or what was to become their program, that are still at it. */
function waiting(session: string): number {
	const mark = `HAWSER_MINDER=${session}\0`;
	return readdirSync("/proc").filter((pid) => {
		try {
			return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, "latin1").startsWith(mark);
		} catch {
			return false;
		}
	}).length;
}

const kinds: readonly (readonly [string, readonly string[], (away: string) => Partial<Order>])[] = [
	["directory", ["sleep", "1000"], (away) => ({ cwd: join(away, "x") })],
	["program", ["x"], (away) => ({ files: [join(away, "x")] })],
	["folder in PATH", ["sleep", "1000"], (away) => ({ files: [join(away, "sleep"), "/bin/sleep"] })],
];

describe.each(kinds)("a %s that does not answer", (_, argv, orderIn) => {
	const start = (session: string, startMs: number) => startProgram(argv, { ...orderIn(mountAway()), session, startMs });

	test("holds up nobody, is given up after its time, and leaves nothing behind", async () => {
		// For longer than the test may take: nobody is served because it was given up.
		start("held", 60_000).catch(() => {});
		await eventually(() => waiting("held") > 0);
		// More than there are minders that wait for orders.
		for (let i = 0; i < 5; i++) {
			const run = await (await Run.start(spawn, ["echo", "served"])).closed();
			expect(run.text()).toBe("served\n");
		}
		await expect(start("hung", 1_000)).rejects.toMatchObject({ step: "start", code: "ETIMEDOUT" });
		await eventually(() => waiting("hung") === 0);
	});
});
