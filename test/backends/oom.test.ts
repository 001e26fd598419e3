/** Reports about programs when memory runs out. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { OomCounter } from "../../src/backends/oom-counter.ts";
import { createSpawn, spawn } from "../../src/backends/spawn.ts";
import { Run } from "../support/run-program.ts";
import { temporaryDirectory } from "../support/temporary.ts";

test("a program killed by the kernel for lack of memory reports that; one killed by another process does not", async () => {
	const events = join(await temporaryDirectory(), "memory.events");
	const count = (kills: number) => writeFileSync(events, `low 0\nhigh 0\nmax 12\noom 3\noom_kill ${kills}\n`);
	count(7);
	const counting = createSpawn({ oom: new OomCounter(events) });
	const start = async () => {
		const run = await Run.start(counting, ["sh", "-c", "echo ready; read line; kill -$line $$"]);
		await run.untilText("ready");
		return run;
	};
	const end = async (run: Run, signal: string) => {
		await run.process.write(Buffer.from(`${signal}\n`));
		return (await run.closed()).exit;
	};
	expect(await end(await start(), "KILL")).toEqual({ code: null, signal: "SIGKILL" });
	const starved = await start();
	count(8);
	expect(await end(starved, "KILL")).toEqual({ code: null, signal: "SIGKILL", reason: "oom" });
	const ended = await start();
	count(9);
	expect(await end(ended, "TERM")).toEqual({ code: null, signal: "SIGTERM" });
	const killed = await start();
	count(10);
	await killed.process.kill({ graceMs: 0, reason: "killed" });
	expect(killed.exit).toEqual({ code: null, signal: "SIGKILL", reason: "killed" });
});

test("the kernel's kills in a program's own group count from the first one", async () => {
	const group = await temporaryDirectory();
	const counter = () => OomCounter.ofGroup(group).hasJustGrown();
	expect(counter()).toBe(false);
	writeFileSync(join(group, "memory.events"), "max 0\noom_kill 0\n");
	expect(counter()).toBe(false);
	writeFileSync(join(group, "memory.events"), "max 9\noom_kill 1\n");
	expect(counter()).toBe(true);
});

test("when memory runs out, the program is killed before its keeper", async () => {
	const run = await (await Run.start(spawn, ["cat", "/proc/self/oom_score_adj"])).closed();
	const own = Number(readFileSync("/proc/self/oom_score_adj", "latin1"));
	expect(Number(run.text())).toBe(Math.min(own + 200, 1000));
});
