// @module-tag apart

import { describe, expect, test } from "vitest";
import { eventually } from "../support/reading.ts";
import { startConfined, users } from "./support.ts";

const options = { sandbox: { type: "readOnly" }, mode: "pty" } as const;

describe.each(users)("as $name, a program in a sandbox with a terminal", (user) => {
	const start = (script: string) => startConfined(["bash", "-c", script], { ...options, user });
	const interactive = () => startConfined(["bash", "--norc", "-i"], { ...options, user });

	test("a sandboxed program handles Ctrl-C itself", async () => {
		const run = await start("trap 'echo caught; exit 7' INT; echo ready; while :; do read -t 0.1; done");
		await run.untilText("ready");
		await run.process.write(Buffer.from("\x03"));
		await run.closed();
		expect(run.text()).toContain("caught");
		expect(run.exit).toEqual({ code: 7, signal: null });
	});

	test("a sandboxed program that does not handle Ctrl-C is ended by it", async () => {
		const run = await start("echo ready; exec sleep 1000");
		await run.untilText("ready");
		await run.process.write(Buffer.from("\x03"));
		await run.closed();
		expect(run.exit).toEqual({ code: 130, signal: null });
	});

	test("a sandboxed program gets signals as if they were typed", async () => {
		const run = await start("trap 'echo caught; exit 7' QUIT; echo ready; while :; do read -t 0.1; done");
		await run.untilText("ready");
		run.process.signal("SIGQUIT");
		await run.closed();
		expect(run.exit).toEqual({ code: 7, signal: null });
	});

	test("a sandboxed program gets SIGWINCH after a resize", async () => {
		const run = await start("trap 'stty size' WINCH; echo ready; while :; do read -t 0.1; done");
		await run.untilText("ready");
		run.process.resize({ cols: 132, rows: 43 });
		await run.untilText("43 132");
		await run.process.kill({ signal: "SIGKILL" });
	});

	test("a sandboxed program's wait is recognized as without a sandbox", async () => {
		const run = await start("read -s secret; exec sleep 1000");
		await eventually("the secret", async () => {
			const sight = await run.process.look();
			return sight?.reads && sight.program === "bash" && sight.canonical && !sight.echo;
		});
		await run.process.write(Buffer.from("x\n"));
		await eventually("the sleep", async () => {
			const sight = await run.process.look();
			return sight?.call === "sleep" && sight.program === "sleep";
		});
		await run.process.kill({ signal: "SIGKILL" });
	});

	test("a sandboxed shell has job control", async () => {
		const run = await interactive();
		await run.process.write(Buffer.from("PS1='> '\nsh -c 'echo job-$((1+1)); exec sleep 1000'\n"));
		// The job has the terminal then; earlier, ^Z would go to the shell, which ignores it.
		await run.untilText("job-2");
		// Only once: each ^Z discards pending terminal output, possibly "Stopped".
		await run.process.write(Buffer.from("\x1a"));
		await run.untilText("Stopped");
		await run.process.write(Buffer.from("kill %1; wait; tty >/dev/tty; exit 5\n"));
		await run.closed();
		expect(run.text()).not.toContain("no job control");
		expect(run.exit).toEqual({ code: 5, signal: null });
	});

	test("a sandboxed shell is distinguished from its job, as without a sandbox", async () => {
		const run = await interactive();
		await run.process.write(Buffer.from("PS1='> '; echo rea''dy\n"));
		await run.untilText("ready");
		expect(run.process.terminal()?.hasJob).toBe(false);
		await run.process.write(Buffer.from("sleep 1000\n"));
		await eventually("the job", () => run.process.terminal()?.hasJob);
		await run.process.kill({ signal: "SIGKILL" });
	});

	test("a sandboxed program leads its own session with its own controlling terminal", async () => {
		const run = await start("ps -o pid=,sid=,tpgid= -p $$; : </dev/tty && echo opened");
		await run.closed();
		expect(run.text()).toMatch(/^\s*2\s+2\s+2\r\nopened\r\n$/);
	});

	test("a sandboxed program ends with its terminal", async () => {
		const run = await start("trap 'exit 9' HUP; echo ready; while :; do read -t 1000 </dev/null; sleep 0.01; done");
		await run.untilText("ready");
		await run.process.kill();
		expect(run.exit).toMatchObject({ code: 9 });
	});
});

describe.each(users)("as $name, a program in a sandbox on pipes", (user) => {
	test("a sandboxed program on pipes gets each signal once", async () => {
		const script = "trap 'echo caught' INT; trap 'exit 4' TERM; echo ready; while :; do sleep 0.01; done";
		const run = await startConfined(["bash", "-c", script], { sandbox: { type: "readOnly" }, user });
		await run.untilText("ready");
		run.process.signal("SIGINT");
		await run.untilText("caught");
		run.process.signal("SIGTERM");
		await run.closed();
		expect(run.text("stdout")).toBe("ready\ncaught\n");
		expect(run.exit).toEqual({ code: 4, signal: null });
	});
});
