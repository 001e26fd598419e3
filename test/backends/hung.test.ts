/** A directory or a program on an unreachable file server. */

import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { spawn } from "../../src/backends/spawn.ts";
import type { Order } from "../../src/native/minder.ts";
import { startProgram } from "../support/programs.ts";
import { eventually, Run } from "../support/run-program.ts";

/** A file system whose server never answers. */
function mountAway(): string {
	const folder = mkdtempSync(join(tmpdir(), "hawser-hung-"));
	const device = openSync("/dev/fuse", constants.O_RDWR);
	const options = "fd=3,rootmode=40000,user_id=0,group_id=0";
	execFileSync("mount", ["-i", "-t", "fuse", "-o", options, "away", folder], { stdio: [0, 1, 2, device] });
	onTestFinished(() => {
		// Closing the device fails all waiting requests.
		closeSync(device);
		execFileSync("umount", ["-l", folder]);
		rmSync(folder, { recursive: true });
	});
	return folder;
}

/** Counts minders, and processes about to become the program, that still wait. */
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

	test("a hung start delays no other start, is given up after its time, and leaves nothing behind", async () => {
		// Longer than the test: other starts don't depend on this one being given up.
		start("held", 60_000).catch(() => {});
		await eventually(() => waiting("held") > 0);
		// More starts than there are waiting minders.
		for (let i = 0; i < 5; i++) {
			const run = await (await Run.start(spawn, ["echo", "served"])).closed();
			expect(run.text()).toBe("served\n");
		}
		await expect(start("hung", 1_000)).rejects.toMatchObject({ step: "start", code: "ETIMEDOUT" });
		await eventually(() => waiting("hung") === 0);
	});
});
