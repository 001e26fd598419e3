/** Ending what nobody holds any more, and ending much at once. */

import { execFileSync, spawn as spawnChild } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { killSurvivors } from "../../src/backends/kill.ts";
import { descendants, isLeft, living } from "../../src/backends/processes.ts";
import { spawn } from "../../src/backends/spawn.ts";
import { minderFile } from "../../src/native/minder.ts";
import { eventually, Run } from "./run.ts";

const isAlive = (pid: number) => living().some((process) => process.pid === pid);
const stateOf = (pid: number) => / ([A-Z]) /.exec(readFileSync(`/proc/${pid}/stat`, "latin1"))?.[1];

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
	const run = await Run.start(spawn, ["bash", "-c", "trap 'exit 3' TERM; kill -STOP $$; sleep 1000"]);
	await eventually(() => stateOf(run.process.pid) === "T");
	await run.process.kill();
	expect(run.exit).toEqual({ code: 3, signal: null });
});

describe("a program that stops its own minder", () => {
	const startStopped = async (script: string) => {
		const run = await Run.start(spawn, ["bash", "-c", `read go; kill -STOP $PPID; ${script}`]);
		const minder = living().find(({ pid }) => pid === run.process.pid)?.parent ?? 0;
		await run.process.write(Buffer.from("go\n"));
		await eventually(() => stateOf(minder) === "T");
		return { run, minder };
	};

	test("is asked to end as any other, and how it ended is known", async () => {
		const { run } = await startStopped("trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done");
		await run.untilText("ready");
		await run.process.kill();
		expect(run.exit).toEqual({ code: 3, signal: null });
	});

	test("is ended with all that it started if it does so again and again", async () => {
		const { run, minder } = await startStopped(
			"trap '' TERM; env -i setsid sleep 1000 & for i in 1 2 3; do while :; do kill -STOP $PPID; done & done; echo ready; wait",
		);
		await run.untilText("ready");
		const tree = descendants(minder, living());
		await run.process.kill({ graceMs: 0 });
		expect(run.exit).toEqual({ code: null, signal: "SIGKILL" });
		expect(tree.filter(({ pid }) => isAlive(pid))).toEqual([]);
		// It is the last to go, and is heard of just before it has.
		await eventually(() => !isAlive(minder));
	});

	test("leaves nothing to find when it is lost", async () => {
		const { run, minder } = await startStopped("(env -i setsid sleep 1000 &); echo ready; sleep 1000");
		await run.untilText("ready");
		const tree = descendants(minder, living());
		expect(tree.length).toBeGreaterThan(1);
		await killSurvivors(run.sessionId);
		expect([...tree, { pid: minder }].filter(({ pid }) => isAlive(pid))).toEqual([]);
	});

	test("is started and ended all the same if it does so before the minder has told of it", async () => {
		const folder = mkdtempSync(join(tmpdir(), "hawser-early-"));
		onTestFinished(() => rmSync(folder, { recursive: true }));
		const [source, program] = [join(folder, "early.c"), join(folder, "early")];
		const includes = "#include <signal.h>\n#include <unistd.h>\n";
		writeFileSync(source, `${includes}int main(void) { kill(getppid(), SIGSTOP); for (;;) pause(); }`);
		// Quick enough to win more often than not.
		execFileSync(process.env.CC || "cc", ["-static", "-o", program, source]);
		const runs = await Promise.all(Array.from({ length: 8 }, () => Run.start(spawn, [program])));
		await Promise.all(runs.map((run) => run.process.kill()));
		expect(runs.map(({ exit }) => exit?.signal)).toEqual(runs.map(() => "SIGTERM"));
	});
});

describe("a marker that another session's program carries", () => {
	test("ends nothing of that session", async () => {
		const id = `test-${randomUUID()}`;
		const other = await Run.start(spawn, ["bash", "-c", `HAWSER_SESSION=${id} sleep 1000 & echo ready; wait`]);
		await other.untilText("ready");
		const tree = living().filter(({ session }) => session === other.process.pid);
		expect(tree.length).toBe(2);
		await killSurvivors(id);
		expect(tree.filter(isLeft)).toEqual(tree);
		await other.process.kill();
	});

	test("of a minder, which it is not, is not waited for", async () => {
		const id = `test-${randomUUID()}`;
		const env = { PATH: process.env.PATH, HAWSER_MINDER: id };
		const stranger = spawnChild("bash", ["-c", "trap '' USR2; echo ready; read line"], { env });
		await once(stranger.stdout, "data");
		const began = performance.now();
		await killSurvivors(id);
		expect(performance.now() - began).toBeLessThan(5_000);
		expect(isAlive(stranger.pid ?? 0)).toBe(true);
		stranger.kill("SIGKILL");
	});

	test("is nothing to the terminal session that it is in", async () => {
		const id = `test-${randomUUID()}`;
		const child = spawnChild("bash", ["-c", `HAWSER_SESSION=${id} sleep 1000 & echo $!; read line`], {
			detached: true,
		});
		const sleep = Number((await once(child.stdout, "data"))[0]);
		// Until it has become the sleep it carries what its parent does.
		await eventually(() => readFileSync(`/proc/${sleep}/environ`, "latin1").includes(id));
		await killSurvivors(id);
		expect([child.pid ?? 0, sleep].map(isAlive)).toEqual([true, false]);
		child.kill("SIGKILL");
	});
});

test("a minder that does nothing at all is ended itself", async () => {
	const id = `test-${randomUUID()}`;
	// It heeds no signal, and gets no order either.
	const deaf = spawnChild(minderFile, ["0"], { env: { HAWSER_MINDER: id }, stdio: ["pipe", "ignore", "ignore"] });
	await once(deaf, "spawn");
	const { pid = 0 } = deaf;
	await eventually(() => /^SigBlk:\t0*[1-9a-f]/m.test(readFileSync(`/proc/${pid}/status`, "latin1")));
	const [[, signal]] = await Promise.all([once(deaf, "exit"), killSurvivors(id)]);
	expect(signal).toBe("SIGKILL");
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
