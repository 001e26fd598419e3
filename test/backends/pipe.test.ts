/** Programs on pipes. */

import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createSpawn, spawn } from "../../src/backends/spawn.ts";
import { testBackend } from "../contracts/backend.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { Run } from "../support/run-program.ts";
import { temporaryDirectory } from "../support/temporary.ts";

testBackend("pipe");

const start = (script: string, options = {}) => Run.start(spawn, ["bash", "-c", script], { mode: "pipe", ...options });

test("stdout and stderr are reported separately", async () => {
	const run = await (await start("echo one; echo two >&2; echo three")).closed();
	expect([run.text("stdout"), run.text("stderr")]).toEqual(["one\nthree\n", "two\n"]);
});

test("merged output comes through one pipe in the order written", async () => {
	const script = "for i in {1..500}; do echo out $i; echo err $i >&2; done";
	const run = await (await start(script, { stderr: "merged" })).closed();
	const written = Array.from({ length: 500 }, (_, i) => `out ${i + 1}\nerr ${i + 1}\n`).join("");
	expect(run.text("stdout")).toBe(written);
	expect(run.text("stderr")).toBe("");
});

test("with an unlimited drain time, closed waits for every process that holds the pipes", async () => {
	const clock = new FakeClock();
	const fifo = join(await temporaryDirectory(), "fifo");
	execFileSync("mkfifo", [fifo]);
	const script = `{ read line < ${fifo}; echo late; } & exit 3`;
	const run = await Run.start(createSpawn({ clock }), ["bash", "-c", script], { drainMs: null });
	await run.until(() => run.exit !== undefined);
	clock.advance(24 * 3600 * 1000);
	expect(run.isClosed).toBe(false);
	await writeFile(fifo, "go\n");
	await run.closed();
	expect([run.text(), run.exit]).toEqual(["late\n", { code: 3, signal: null }]);
});

test("a program can reopen its pipes by name", async () => {
	const run = await (await start("echo x > /dev/stdout; echo y > /dev/stderr")).closed();
	expect([run.text("stdout"), run.text("stderr")]).toEqual(["x\n", "y\n"]);
});

test("a closed input is at its end from the start", async () => {
	const run = await (await start("cat; echo over", { stdin: "closed" })).closed();
	expect(run.text()).toBe("over\n");
	await expect(run.process.write(Buffer.from("x"))).rejects.toMatchObject({ code: "session_closed" });
});

test("a write after the end of the input, or to a program that closed it, is refused", async () => {
	const run = await start("exec <&-; echo ready; sleep 1000");
	await run.untilText("ready");
	await expect(run.process.write(Buffer.from("x"))).rejects.toMatchObject({ code: "session_closed" });
	await run.process.kill();
	const other = await start("sleep 1000");
	await other.process.eof();
	await other.process.eof();
	await expect(other.process.write(Buffer.from("x"))).rejects.toThrow("its input was ended");
	await other.process.kill();
});

test("the input ends after all pending writes", async () => {
	const run = await start("sleep 0.1; wc -c");
	const writing = run.process.write(new Uint8Array(500_000));
	await run.process.eof();
	await writing;
	await run.closed();
	expect(run.text().trim()).toBe("500000");
});

test("a program whose output ended is not reported as closed before its exit", async () => {
	const run = await start("exec >&- 2>&-; read line");
	await run.process.write(Buffer.from("go\n"));
	await run.closed();
	expect(run.facts).toEqual([{ kind: "exited", exit: { code: 0, signal: null } }, { kind: "closed" }]);
});

test("a signal reaches the program's whole process group", async () => {
	const run = await start(
		"bash -c 'trap \"echo child; exit\" USR1; echo ready; while :; do sleep 0.05; done' & trap : USR1; wait; wait; exit 0",
	);
	await run.untilText("ready");
	run.process.signal("USR1");
	await run.closed();
	expect(run.text()).toContain("child");
});

test("a program on pipes has no terminal state, and a resize has no effect", async () => {
	const run = await start("read line");
	expect(run.process.terminal()).toBeUndefined();
	run.process.resize({ cols: 1, rows: 1 });
	await run.process.kill();
});
