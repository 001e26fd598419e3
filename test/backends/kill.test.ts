/** Ending what nobody holds any more, and ending much at once. */

import { spawn as spawnChild } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { expect, test } from "vitest";
import { killSurvivors } from "../../src/backends/kill.ts";
import { descendants, living } from "../../src/backends/processes.ts";
import { spawn } from "../../src/backends/spawn.ts";
import { Run } from "./run.ts";

const isAlive = (pid: number) => living().some((process) => process.pid === pid);

test("survivors of a session are found by its marker and ended, and nobody else is", async () => {
	const id = `test-${randomUUID()}`;
	const start = (session: string, script: string) => {
		const child = spawnChild("bash", ["-c", `${script} echo ready; read line`], {
			env: { PATH: process.env.PATH, HAWSER_SESSION: session },
			detached: true,
		});
		return once(child.stdout, "data").then(() => child);
	};
	const stranger = await start(`${id}-other`, "");
	// The one that cleared its environment is beside one that carries the marker, and below it.
	const child = await start(id, "trap '' TERM HUP; env -i sleep 1000 & setsid sleep 1001 &");
	const tree = [child.pid ?? 0, ...descendants(child.pid ?? 0, living()).map(({ pid }) => pid)];
	expect(tree.length).toBe(3);
	await killSurvivors(id);
	expect(tree.filter(isAlive)).toEqual([]);
	expect(isAlive(stranger.pid ?? 0)).toBe(true);
	await killSurvivors(`${id}-other`);
	expect(isAlive(stranger.pid ?? 0)).toBe(false);
});

test("stopped programs are ended too", async () => {
	const run = await Run.start(spawn, ["bash", "-c", "trap 'exit 3' TERM; echo ready; kill -STOP $$; sleep 1000"]);
	await run.untilText("ready");
	await run.process.kill();
	expect(run.exit).toEqual({ code: 3, signal: null });
});

test("a tree that keeps forking is ended", async () => {
	const run = await Run.start(spawn, [
		"bash",
		"-c",
		"echo ready; f() { sleep 0.01; (f &) ; (exec sleep 0.05 &) ; }; f; sleep 1000",
	]);
	await run.untilText("ready");
	await run.process.kill({ graceMs: 0 });
	expect(run.isClosed).toBe(true);
	await killSurvivors(run.sessionId);
});

test("a hundred sessions end together in little more time than one", async () => {
	const runs = await Promise.all(
		Array.from({ length: 100 }, (_, i) =>
			Run.start(spawn, ["sh", "-c", "sleep 1000; true"], { mode: i % 2 === 0 ? "pty" : "pipe" }),
		),
	);
	const began = performance.now();
	await Promise.all(runs.map((run) => run.process.kill()));
	expect(performance.now() - began).toBeLessThan(4_000);
	expect(runs.every((run) => run.isClosed)).toBe(true);
});
