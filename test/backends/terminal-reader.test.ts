// @module-tag apart

/** Reading a terminal through its pump. */

import { readdirSync, readlinkSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { spawn } from "../../src/backends/spawn.ts";
import { closePump, drainPump, openPump, takePump } from "../../src/native/addon.ts";
import { startProgram } from "../support/programs.ts";
import { eventually, Run } from "../support/run-program.ts";

const start = (script: string) => Run.start(spawn, ["bash", "-c", script], { mode: "pty" });

/** Blocks the event loop. */
function block(ms: number): void {
	Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const written = (bytes: number) => `head -c ${bytes} /dev/zero | tr '\\0' x`;

describe("a terminal's output while the loop is busy", () => {
	// Sizes around a segment, one report, the whole store, and beyond.
	for (const bytes of [5_000, 200_000, 300_000, 524_288, 530_000, 2_000_000]) {
		test(`is all reported, though nothing follows it: ${bytes} bytes`, async () => {
			const run = await start(`stty -echo; echo ready; read line; ${written(bytes)}; exec sleep 1000`);
			await run.untilText("ready\r\n");
			await run.process.write(Buffer.from("\n"));
			block(150);
			await run.until(() => run.bytes().byteLength === "ready\r\n".length + bytes);
			await run.process.kill({ signal: "SIGKILL" });
		});
	}

	test("a full store makes the program wait, and all output arrives in the end", async () => {
		const run = await start(`stty -echo; ${written(2_000_000)}; echo; echo done`);
		for (let i = 0; i < 20; i++) {
			block(20);
			await new Promise((resolve) => setImmediate(resolve));
		}
		await run.closed();
		expect(run.text()).toBe(`${"x".repeat(2_000_000)}\r\ndone\r\n`);
	});
});

test("pausing and resuming at any moment loses and repeats nothing", async () => {
	const run = await start("stty -echo; seq 1 60000");
	while (!run.isClosed) {
		run.process.pause();
		await new Promise((resolve) => setImmediate(resolve));
		run.process.resume();
		await new Promise((resolve) => setTimeout(resolve, 1));
	}
	expect(run.text()).toBe(Array.from({ length: 60_000 }, (_, i) => `${i + 1}\r\n`).join(""));
});

test("a closed terminal leaves no thread and no descriptor", async () => {
	const threads = () => readdirSync("/proc/self/task").length;
	const terminals = () =>
		readdirSync("/proc/self/fd").filter((fd) => {
			try {
				return readlinkSync(`/proc/self/fd/${fd}`).includes("ptmx");
			} catch {
				return false;
			}
		}).length;
	const runToEnd = async (script: string) => {
		const run = await (await start(script)).closed();
		// Until its minder and our end of its socket are gone.
		await run.process.kill();
	};
	await runToEnd("true");
	await eventually(() => terminals() === 0);
	const before = { threads: threads(), descriptors: readdirSync("/proc/self/fd").length };
	for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 10 }, () => runToEnd("echo hi")));
	await eventually(() => terminals() === 0);
	expect(readdirSync("/proc/self/fd").length).toBe(before.descriptors);
	// The kernel lists a thread shortly after it was joined, possibly also in the count before.
	await eventually(() => threads() <= before.threads);
});

test("a pump continues after its full store was drained", async () => {
	const bytes = 2_000_000;
	const script = `stty -echo; ${written(bytes)}; exec sleep 1000`;
	const started = await startProgram(["bash", "-c", script], { stdio: "pty" });
	const space = Buffer.alloc(256 * 1024);
	let read = 0;
	await new Promise<void>((resolve) => {
		const pump = openPump(started, () => {
			read += takePump(pump, space);
			if (read < bytes) return;
			closePump(pump);
			resolve();
		});
		block(200);
		// Exactly what the store holds; the pump has to read the rest by itself.
		while (read < 512 * 1024) read += drainPump(pump, space);
	});
	expect(read).toBe(bytes);
	await started.end([started.input, started.slave]);
});
