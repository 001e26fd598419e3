// @module-tag apart

/** Pumps and children whose owner ends. */

import { closeSync, readdirSync, readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { startProgram } from "../support/programs.ts";
import { eventually } from "../support/run-program.ts";

const threads = () => readdirSync("/proc/self/task").length;
const terminals = () =>
	readdirSync("/proc/self/fdinfo").filter((fd) => {
		try {
			// Our descriptors of terminals, found by kind, not by path.
			return readFileSync(`/proc/self/fdinfo/${fd}`, "latin1").includes("tty-index");
		} catch {
			return false;
		}
	}).length;

/** A thread that floods itself from a terminal, and reports the first bytes. */
const script = `
	const { parentPort } = require("node:worker_threads");
	Promise.all([
		import(${JSON.stringify(new URL("../../dist/native/addon.js", import.meta.url))}),
		import(${JSON.stringify(new URL("../../dist/native/minder.js", import.meta.url))}),
	]).then(([{ openPump, takePump }, { Minder }]) => {
		const order = { session: "teardown", stdio: "pty", size: { cols: 80, rows: 24 }, files: ["/usr/bin/yes", "/bin/yes"], argv: ["yes"], env: [], cwd: "/", startMs: 10_000 };
		const space = new Uint8Array(256 * 1024);
		return Minder.start(order, (minder) => {
			minder.onExit(() => {});
			const pump = openPump(minder.ends, () => {
				if (takePump(pump, space) > 0) parentPort.postMessage([minder.ends.control, minder.ends.input, minder.ends.slave]);
			});
		});
	});
`;

test("a killed nursery ends no program, does not affect the next start, and leaves no zombie", async () => {
	const first = await startProgram(["cat"]);
	const [nursery] = children().filter(({ name }) => name === "minder");
	process.kill(nursery?.pid ?? 0, "SIGKILL");
	await eventually(() => children().every(({ pid, state }) => pid !== nursery?.pid || state === "Z"));
	const second = await startProgram(["sh", "-c", "exit 5"]);
	expect(await second.exited).toMatchObject({ code: 5 });
	await second.end();
	process.kill(first.pid, "SIGTERM");
	expect(await first.exited).toMatchObject({ signal: 15 });
	await first.end();
	await eventually(() => children().every(({ state }) => state !== "Z"));
});

test("a thread that ends closes its pumps and their terminals, and nothing crashes", async () => {
	const before = threads();
	for (let round = 0; round < 10; round++) {
		const workers = [0, 1].map(() => new Worker(script, { eval: true }));
		const held = await Promise.all(
			workers.map((worker) => new Promise<number[]>((resolve) => worker.once("message", resolve))),
		);
		await Promise.all(workers.map((worker) => worker.terminate()));
		for (const fd of held.flat()) closeSync(fd);
		// Node may have started one more itself.
		await eventually(() => threads() <= before + 1 && terminals() === 0);
	}
});

function children(): { readonly pid: number; readonly name: string; readonly state: string }[] {
	return readdirSync("/proc").flatMap((pid) => {
		try {
			const [, name = "", state = "", parent] =
				/\((.*)\) (\S) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "latin1")) ?? [];
			return Number(parent) === process.pid ? [{ pid: Number(pid), name, state }] : [];
		} catch {
			return [];
		}
	});
}
