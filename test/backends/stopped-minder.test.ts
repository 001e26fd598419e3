/** Minders that are stopped with SIGSTOP when their parent dies. */

import { type ChildProcess, spawn as spawnChild } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { descendants, findProcess, listProcesses } from "../../src/backends/process-table.ts";
import { isAlive, killIfThere } from "../support/alive.ts";
import { eventually } from "../support/reading.ts";

/** A process that starts a program with a daemon, prints its pid, and waits to be killed. */
const STARTER = `
import { spawn } from ${JSON.stringify(new URL("../../dist/backends/spawn.js", import.meta.url).href)};
const argv = ["sh", "-c", "(env -i setsid sleep 1000 &); exec sleep 1000"];
const command = { argv, env: { PATH: process.env.PATH }, cwd: "/", mode: "pipe", size: { cols: 80, rows: 24 }, stdin: "open", drainMs: 0, sessionId: "stopped" };
const { pid } = await spawn(command, () => {});
console.log(pid);
`;

const stateOf = (pid: number) => / ([A-Z]) /.exec(readFileSync(`/proc/${pid}/stat`, "latin1"))?.[1];

/** False also for a process that has ended. */
function isSleep(pid: number): boolean {
	try {
		return readFileSync(`/proc/${pid}/comm`, "latin1") === "sleep\n";
	} catch {
		return false;
	}
}

type Tree = {
	readonly starter: ChildProcess;
	readonly nursery: number;
	readonly minder: number;
	/** Everything below the minder. */
	readonly programs: readonly number[];
};

/** A program with a daemon, whose nursery and minder are stopped: the nursery first, for it would continue the minder. */
async function startStopped(): Promise<Tree> {
	const starter = spawnChild(process.execPath, ["--input-type=module", "-e", STARTER], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	const [line] = await once(createInterface({ input: starter.stdout }), "line");
	const minder = findProcess(Number(line))?.parent ?? 0;
	const nursery = findProcess(minder)?.parent ?? 0;
	// For a moment, the shell that starts the daemon is there, too.
	const programs = await eventually("the program and its daemon", () => {
		const pids = descendants(minder, listProcesses()).map(({ pid }) => pid);
		return pids.length === 2 && pids.every(isSleep) ? pids : undefined;
	});
	onTestFinished(() => {
		for (const pid of [nursery, minder, ...programs]) killIfThere(pid);
	});
	for (const pid of [nursery, minder]) {
		process.kill(pid, "SIGSTOP");
		await eventually("the stop", () => stateOf(pid) === "T");
	}
	return { starter, nursery, minder, programs };
}

async function endWithServer({ starter, nursery, minder, programs }: Tree): Promise<void> {
	const gone = once(starter, "exit");
	starter.kill("SIGKILL");
	await gone;
	await eventually("the end of all", () => ![...programs, minder, nursery].some(isAlive));
}

test.each([false, true])(
	"a stopped minder ends the program when its server is killed; its nursery was continued before: %s",
	async (isContinued) => {
		const tree = await startStopped();
		if (isContinued) {
			process.kill(tree.nursery, "SIGCONT");
			await eventually("the minder to go on", () => stateOf(tree.minder) !== "T");
		}
		await endWithServer(tree);
	},
);

test("a stopped minder goes on when its nursery is killed", async () => {
	const tree = await startStopped();
	process.kill(tree.nursery, "SIGKILL");
	await eventually("the minder to go on", () => stateOf(tree.minder) !== "T");
	expect(tree.programs.filter(isAlive)).toEqual(tree.programs);
	await endWithServer(tree);
});
