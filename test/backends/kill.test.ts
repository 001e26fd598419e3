/** Kills of sessions without a live parent, and of many at once. */

import { execFileSync, spawn as spawnChild } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { killRemaining } from "../../src/backends/kill.ts";
import { descendants, isLeft, listProcesses } from "../../src/backends/process-table.ts";
import { spawn } from "../../src/backends/spawn.ts";
import { minderFile } from "../../src/native/minder.ts";
import { eventually, Run } from "../support/run-program.ts";

const isAlive = (pid: number) => listProcesses().some((process) => process.pid === pid);
const parentOf = (child: number) => listProcesses().find(({ pid }) => pid === child)?.parent ?? 0;
const stateOf = (pid: number) => / ([A-Z]) /.exec(readFileSync(`/proc/${pid}/stat`, "latin1"))?.[1];

test("the surviving processes of a session are found by its marker and ended, and no others", async () => {
	const id = `test-${randomUUID()}`;
	const start = (session: string, script: string) => {
		const child = spawnChild("bash", ["-c", `${script} echo ready; read line`], {
			env: { PATH: process.env.PATH, HAWSER_SESSION: session },
			detached: true,
		});
		return once(child.stdout, "data").then(() => child);
	};
	const stranger = await start(`${id}-other`, "");
	// The process with a cleared environment is below one with the marker, next to another.
	const child = await start(id, "trap '' TERM HUP; env -i sleep 1000 & setsid sleep 1001 &");
	const tree = [child.pid ?? 0, ...descendants(child.pid ?? 0, listProcesses()).map(({ pid }) => pid)];
	expect(tree.length).toBe(3);
	await killRemaining(id);
	expect(tree.filter(isAlive)).toEqual([]);
	expect(isAlive(stranger.pid ?? 0)).toBe(true);
	await killRemaining(`${id}-other`);
	expect(isAlive(stranger.pid ?? 0)).toBe(false);
});

test("stopped programs are ended too", async () => {
	const run = await Run.start(spawn, ["bash", "-c", "trap 'exit 3' TERM; kill -STOP $$; sleep 1000"]);
	await eventually(() => stateOf(run.process.pid) === "T");
	await run.process.kill();
	expect(run.exit).toEqual({ code: 3, signal: null });
});

test.each(["kill -KILL $$", "exit 3", "(sleep 1000 &); kill -KILL $$"])(
	"the end of a program that stopped its minder is known: %s",
	async (end) => {
		const run = await Run.start(spawn, ["bash", "-c", `read go; kill -STOP $PPID; ${end}`]);
		await run.process.write(Buffer.from("go\n"));
		await eventually(() => run.exit !== undefined);
		expect(run.exit).toEqual(end === "exit 3" ? { code: 3, signal: null } : { code: null, signal: "SIGKILL" });
		await run.process.kill({ graceMs: 0 });
	},
);

test("a minder stopped while its program runs continues", async () => {
	const run = await Run.start(spawn, ["sleep", "1000"]);
	const minder = parentOf(run.process.pid);
	for (let times = 0; times < 20; times++) {
		process.kill(minder, "SIGSTOP");
		await eventually(() => stateOf(minder) === "S");
	}
	await run.process.kill();
	expect(run.exit).toEqual({ code: null, signal: "SIGTERM" });
});

describe("a program that stops its minder and its nursery", () => {
	const startStopped = async (script: string) => {
		const run = await Run.start(spawn, ["bash", "-c", `read go; kill -STOP $PPID; ${script}`]);
		const minder = parentOf(run.process.pid);
		// The nursery would continue the minder.
		const nursery = parentOf(minder);
		process.kill(nursery, "SIGSTOP");
		onTestFinished(() => void process.kill(nursery, "SIGCONT"));
		await eventually(() => stateOf(nursery) === "T");
		await run.process.write(Buffer.from("go\n"));
		await eventually(() => stateOf(minder) === "T");
		return { run, minder };
	};

	test("a program that stopped its minder is asked to end like any other, and its exit is known", async () => {
		const { run } = await startStopped("trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done");
		await run.untilText("ready");
		await run.process.kill();
		expect(run.exit).toEqual({ code: 3, signal: null });
	});

	test("a program that stops its minder repeatedly is ended with its children", async () => {
		const { run, minder } = await startStopped(
			"trap '' TERM; env -i setsid sleep 1000 & for i in 1 2 3; do while :; do kill -STOP $PPID; done & done; echo ready; wait",
		);
		await run.untilText("ready");
		const tree = descendants(minder, listProcesses());
		await run.process.kill({ graceMs: 0 });
		expect(run.exit).toEqual({ code: null, signal: "SIGKILL" });
		expect(tree.filter(({ pid }) => isAlive(pid))).toEqual([]);
		// The minder exits last, right after it reported the end.
		await eventually(() => !isAlive(minder));
	});

	test("a lost program that stopped its minder leaves no process", async () => {
		const { run, minder } = await startStopped("(env -i setsid sleep 1000 &); echo ready; sleep 1000");
		await run.untilText("ready");
		const tree = descendants(minder, listProcesses());
		expect(tree.length).toBeGreaterThan(1);
		await killRemaining(run.sessionId);
		expect([...tree, { pid: minder }].filter(({ pid }) => isAlive(pid))).toEqual([]);
	});

	test("a program that stops its minder before the minder reported the start is started and ended anyway", async () => {
		const folder = mkdtempSync(join(tmpdir(), "hawser-early-"));
		onTestFinished(() => rmSync(folder, { recursive: true }));
		const [source, program] = [join(folder, "early.c"), join(folder, "early")];
		const includes = "#include <signal.h>\n#include <unistd.h>\n";
		writeFileSync(source, `${includes}int main(void) { kill(getppid(), SIGSTOP); for (;;) pause(); }`);
		// Statically linked, to be fast enough in most runs.
		execFileSync(process.env.CC || "cc", ["-static", "-o", program, source]);
		const runs = await Promise.all(Array.from({ length: 8 }, () => Run.start(spawn, [program])));
		await Promise.all(runs.map((run) => run.process.kill()));
		expect(runs.map(({ exit }) => exit?.signal)).toEqual(runs.map(() => "SIGTERM"));
	});
});

describe("a marker carried by another session's program", () => {
	test("a kill by marker ends nothing of another session", async () => {
		const id = `test-${randomUUID()}`;
		const other = await Run.start(spawn, ["bash", "-c", `HAWSER_SESSION=${id} sleep 1000 & echo ready; wait`]);
		await other.untilText("ready");
		const tree = listProcesses().filter(({ session }) => session === other.process.pid);
		expect(tree.length).toBe(2);
		await killRemaining(id);
		expect(tree.filter(isLeft)).toEqual(tree);
		await other.process.kill();
	});

	test("a kill by marker does not wait for a process that only imitates a minder", async () => {
		const id = `test-${randomUUID()}`;
		const env = { PATH: process.env.PATH, HAWSER_MINDER: id };
		const stranger = spawnChild("bash", ["-c", "trap '' USR2; echo ready; read line"], { env });
		await once(stranger.stdout, "data");
		const began = performance.now();
		await killRemaining(id);
		expect(performance.now() - began).toBeLessThan(5_000);
		expect(isAlive(stranger.pid ?? 0)).toBe(true);
		stranger.kill("SIGKILL");
	});

	test("a terminal session is not affected by a kill with a marker of one of its processes", async () => {
		const id = `test-${randomUUID()}`;
		const child = spawnChild("bash", ["-c", `HAWSER_SESSION=${id} sleep 1000 & echo $!; read line`], {
			detached: true,
		});
		const sleep = Number((await once(child.stdout, "data"))[0]);
		// Until it runs sleep, its environment is that of its parent.
		await eventually(() => readFileSync(`/proc/${sleep}/environ`, "latin1").includes(id));
		await killRemaining(id);
		expect([child.pid ?? 0, sleep].map(isAlive)).toEqual([true, false]);
		child.kill("SIGKILL");
	});
});

test("an unresponsive minder is killed itself", async () => {
	const id = `test-${randomUUID()}`;
	// Ignores all signals and gets no order.
	const deaf = spawnChild(minderFile, ["0"], { env: { HAWSER_MINDER: id }, stdio: ["pipe", "ignore", "ignore"] });
	await once(deaf, "spawn");
	const { pid = 0 } = deaf;
	await eventually(() => /^SigBlk:\t0*[1-9a-f]/m.test(readFileSync(`/proc/${pid}/status`, "latin1")));
	const [[, signal]] = await Promise.all([once(deaf, "exit"), killRemaining(id)]);
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
	await killRemaining(run.sessionId);
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
