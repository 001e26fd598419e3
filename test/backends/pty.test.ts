/** Programs on a terminal. */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { spawn } from "../../src/backends/spawn.ts";
import { testBackend } from "../contracts/backend.ts";
import { eventually, Run } from "../support/run-program.ts";

testBackend("pty");

const ROUNDS = 20;

const start = (script: string, options = {}) => Run.start(spawn, ["bash", "-c", script], { mode: "pty", ...options });

test("a resize takes effect at once and sends SIGWINCH", async () => {
	const run = await start(
		"stty size; trap 'stty size < /dev/tty; exit' WINCH; echo ready; while :; do sleep 0.05; done",
		{ size: { cols: 132, rows: 43 } },
	);
	await run.untilText("ready");
	run.process.resize({ cols: 99, rows: 31 });
	await run.closed();
	expect(run.text()).toBe("43 132\r\nready\r\n31 99\r\n");
	run.process.resize({ cols: 1, rows: 1 });
});

test.each([0, -1, 1.5, 65_536, Number.NaN])("a size of %s is refused", async (cols) => {
	await expect(start("true", { size: { cols, rows: 24 } })).rejects.toMatchObject({ code: "invalid_argument" });
	const run = await start("read line");
	expect(() => run.process.resize({ cols: 80, rows: cols })).toThrow("rows must be a whole number");
	await run.process.kill();
});

test("an interrupt ends the foreground job and not the shell", async () => {
	const run = await Run.start(spawn, ["bash", "--norc", "-i"], { mode: "pty" });
	const foreground = () => readFileSync(`/proc/${run.process.terminal()?.foreground}/cmdline`, "latin1");
	await run.process.write(Buffer.from("sleep 1000\n"));
	await eventually(() => foreground() === "sleep\x001000\0");
	run.process.signal("SIGINT");
	await eventually(() => run.process.terminal()?.foreground === run.process.pid);
	await run.process.write(Buffer.from("echo status $?; sleep 1001; echo status $?\n"));
	await eventually(() => foreground() === "sleep\x001001\0");
	run.process.signal("TERM");
	await run.untilText("status 130");
	await run.untilText("status 143");
	expect(run.exit).toBeUndefined();
	await run.process.kill();
	expect(run.process.terminal()).toBeUndefined();
});

test("the terminal's state is read without reading its output", async () => {
	const run = await start("stty -echo; echo one; read x; stty raw; echo two; read x");
	await run.untilText("one");
	expect(run.process.terminal()).toMatchObject({ echo: false, canonical: true });
	await run.process.write(Buffer.from("\n"));
	await run.untilText("two");
	expect(run.process.terminal()).toMatchObject({ echo: false, canonical: false });
	await run.process.kill();
});

test("output written before a wait is reported before the wait, also while another process of the program runs", async () => {
	// So much output at once is reported some milliseconds later.
	const answer = "printf '%6000s' ''; echo answer $n";
	const run = await start(`stty -echo; (while :; do :; done) & while read n; do ${answer}; done`);
	for (let n = 0; n < ROUNDS; n++) {
		await run.process.write(Buffer.from(`${n}\n`));
		await eventually(async () => {
			const sight = await run.process.look();
			return sight?.reads === true && sight.runs && sight.unread === 0;
		});
		expect(run.text().endsWith(` answer ${n}\r\n`)).toBe(true);
	}
	await run.process.kill();
});

test("a program may close its terminal and reopen it later", async () => {
	const run = await start(
		"echo one; exec <&- >&- 2>&-; sleep 0.1; echo two > /dev/tty; sleep 0.1; read line < /dev/tty; echo $line > /dev/tty",
	);
	await run.untilText("two");
	await run.process.write(Buffer.from("three\n"));
	await run.closed();
	expect(run.text()).toBe("one\r\ntwo\r\nthree\r\nthree\r\n");
	expect(run.exit).toEqual({ code: 0, signal: null });
});

test("input far larger than the kernel's buffer is written while its echo is read", async () => {
	const run = await start("stty -icanon; echo ready; head -c 300000 | wc -c");
	await run.untilText("ready");
	await run.process.write(new Uint8Array(300_000).fill(97));
	await run.closed();
	expect(run.text()).toContain("300000");
});

test("the state of a closed terminal is read by its own descriptor, never by another terminal's", async () => {
	const run = await start("read line; exit 0");
	run.process.pause();
	await run.process.write(Buffer.from("\n"));
	await run.until(() => run.exit !== undefined);
	await expect(run.process.write(Buffer.from("x"))).rejects.toMatchObject({ code: "session_closed" });
	const others = await Promise.all(Array.from({ length: 5 }, () => start("echo ready; read line; stty size")));
	run.process.resize({ cols: 11, rows: 7 });
	expect(run.process.terminal()).toMatchObject({ foreground: 0 });
	for (const other of others) {
		await other.untilText("ready");
		await other.process.write(Buffer.from("\n"));
		await other.closed();
		expect(other.text()).toContain("24 80");
	}
	run.process.resume();
	await run.closed();
});
