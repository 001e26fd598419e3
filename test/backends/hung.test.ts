/** A directory or a program on a file server that is away. */

import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { spawn } from "../../src/backends/spawn.ts";
import { startProgram } from "../helpers/programs.ts";
import { eventually, Run } from "./run.ts";

const folder = mkdtempSync(join(tmpdir(), "hawser-hung-"));
let device = -1;

/** A file system whose server never answers: nobody reads what the kernel asks of it. */
beforeAll(() => {
	device = openSync("/dev/fuse", constants.O_RDWR);
	const options = "fd=3,rootmode=40000,user_id=0,group_id=0";
	execFileSync("mount", ["-i", "-t", "fuse", "-o", options, "away", folder], { stdio: [0, 1, 2, device] });
});
afterAll(() => {
	// Whoever still waits is told that there is no answer.
	closeSync(device);
	execFileSync("umount", ["-l", folder]);
	rmSync(folder, { recursive: true });
});

/** Minders, or what was to become their program, that are still at it. */
function waiting(): number {
	return readdirSync("/proc").filter((pid) => {
		try {
			return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, "latin1").startsWith("HAWSER_MINDER=hung\0");
		} catch {
			return false;
		}
	}).length;
}

describe.each([
	["directory", ["sleep", "1000"], { cwd: join(folder, "x") }],
	["program", [join(folder, "x")], {}],
	["folder in PATH", ["sleep", "1000"], { files: [join(folder, "sleep"), "/bin/sleep"] }],
] as const)("a %s that does not answer", (_, argv, options) => {
	test("is given up after its time, holds up nobody meanwhile, and leaves nothing behind", async () => {
		let isOver = false;
		const hung = startProgram(argv, { ...options, session: "hung", startMs: 1_500 })
			.catch(({ step, code }) => `${step} ${code}`)
			.finally(() => {
				isOver = true;
			});
		await eventually(() => waiting() > 0);
		// More than there are minders that wait for orders.
		for (let i = 0; i < 5; i++) {
			const run = await (await Run.start(spawn, ["echo", "served"])).closed();
			expect(run.text()).toBe("served\n");
		}
		expect(isOver).toBe(false);
		expect(await hung).toBe("start ETIMEDOUT");
		await eventually(() => waiting() === 0);
	});
});
