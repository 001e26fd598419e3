/** Commands in shells without hooks: typed at the prompt, and reported as far as they can be observed. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { withHooks } from "../../src/backends/shell-hooks.ts";
import { spawn } from "../../src/backends/spawn.ts";
import { systemClock } from "../../src/backends/system-clock.ts";
import { LocalSession } from "../../src/core/session/local-session.ts";
import { eventually, outputUntil, write } from "../support/reading.ts";
import { startOf } from "../support/starts.ts";
import { temporaryDirectory } from "../support/temporary.ts";
import { plainArguments, plainShells, slowCommands } from "./support/plain-shells.ts";
import { textOf, UNTIL_GO } from "./support/shells.ts";

/** The benchmark runs a thousand. */
const COMMANDS = 20;

async function start(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
	const home = await temporaryDirectory();
	const { spec, command } = startOf(argv, { cwd: home, answersQueries: true });
	const variables = { ...command.env, HOME: home, TERM: "xterm-256color", PS1: "$ ", ...env };
	const asked = { spec, command: { ...command, env: variables } };
	const session = await LocalSession.start(asked, { spawn, clock: systemClock });
	onTestFinished(() => session.kill({ graceMs: 0 }));
	return { session, home, run: runner(session) };
}

function runner(session: LocalSession) {
	return async (command: string, { stream = "", timeoutMs = 10_000 } = {}) => {
		const options = stream === "" ? {} : { origin: { stream, position: 0 } };
		const answer = await session.run({ command, timeoutMs, options });
		return { ...answer, text: await textOf(session, answer.output) };
	};
}

describe.each(plainShells)("%s without hooks", (name) => {
	const rest = plainArguments[name];

	test("a command is typed at the prompt of a shell without hooks, and its exit code is reported as unknown", async () => {
		const { run, home } = await start([name, ...rest]);
		const answer = await run("mkdir sub; cd sub; echo a-1-c | tr c b");
		expect(answer).toMatchObject({ status: "ended", exact: false, exitCode: null, seq: null, front: null });
		expect(answer.text).toContain("a-1-b\n");
		expect(answer.cwd).toBe(join(home, "sub"));
		const late = await run("sleep 0.2; printf 'la%s\\n' te");
		expect(late).toMatchObject({ status: "ended", text: expect.stringContaining("late\n") });
	});

	test(`waits-for-input from the kernel: ${COMMANDS} commands, 0 early`, async () => {
		const { run } = await start([name, ...rest]);
		for (const { command, last } of slowCommands(COMMANDS)) {
			expect(await run(command)).toMatchObject({ status: "ended", text: expect.stringContaining(last) });
		}
	});

	test("a command that waits for input is distinguished from the prompt", async () => {
		const { session, run } = await start([name, ...rest]);
		const command = `sh -c 'printf "name? "; read name; echo hello $name'`;
		const asked = await run(command, { stream: "s" });
		expect(asked).toMatchObject({ status: "waiting", exact: false, front: { state: "waiting", kind: "line" } });
		expect(await run("echo no")).toMatchObject({ status: "busy", exact: false });
		await write(session, "you\r");
		const ended = await eventually("the end", async () => {
			const answer = await run(command, { stream: "s" });
			return answer.status === "ended" && answer;
		});
		expect(ended.text).toMatch(/hello you\n/);
	});

	test("a repeated command from the same position is typed once", async () => {
		const { run, home } = await start([name, ...rest]);
		await run("true");
		const command = `echo x >>count; ${UNTIL_GO}; printf 'ov%s\\n' er`;
		// Busy until the shell is seen at its prompt.
		const first = await eventually("that it is typed", async () => {
			const answer = await run(command, { stream: "s", timeoutMs: 100 });
			return answer.status !== "busy" && answer;
		});
		expect(first).toMatchObject({ status: "running", exact: false });
		writeFileSync(join(home, "go"), "");
		expect(await run(command, { stream: "s" })).toMatchObject({
			status: "ended",
			text: expect.stringContaining("over"),
		});
		expect(readFileSync(join(home, "count"), "utf8")).toBe("x\n");
		await expect(run("echo other", { stream: "s" })).rejects.toMatchObject({ code: "invalid_argument" });
	});

	test("a command that ends the shell reports the shell's exit code", async () => {
		const { run } = await start([name, ...rest]);
		expect(await run("exit 7")).toMatchObject({ status: "ended", exitCode: 7, front: null });
		await expect(run("echo no")).rejects.toMatchObject({ code: "session_closed" });
	});

	test("of two concurrent calls of the same command, one types it, and both get its end", async () => {
		const { run, home } = await start([name, ...rest]);
		const command = "echo x >>count; printf 'ov%s\\n' er";
		const answers = await Promise.all([run(command, { stream: "s" }), run(command, { stream: "s" })]);
		for (const answer of answers)
			expect(answer).toMatchObject({ status: "ended", text: expect.stringContaining("over\n") });
		expect(readFileSync(join(home, "count"), "utf8")).toBe("x\n");
	});

	test("nothing is typed while a user is in the middle of a line, or another command runs", async () => {
		const { session, run } = await start([name, ...rest]);
		await run("true");
		await write(session, "sleep 100");
		await outputUntil(session, /sleep 100/);
		expect(await run("echo unwanted", { timeoutMs: 300 })).toMatchObject({ status: "busy" });
		await write(session, "\r");
		await eventually("the sleep", async () => (await session.inspect()).program === "sleep");
		expect(await run("echo unwanted", { timeoutMs: 300 })).toMatchObject({
			status: "busy",
			front: { program: "sleep" },
		});
		const { offset } = await session.end();
		expect(await textOf(session, { from: 0, to: offset })).not.toContain("unwanted");
	});
});

test("a line that the terminal would cut is refused, and so is one with key codes", async () => {
	const { session, run } = await start(["dash"]);
	await run("true");
	const { offset } = await session.end();
	const refusal = { code: "invalid_argument", message: expect.stringContaining("nothing was typed") };
	await expect(run(`echo ${"x".repeat(4_095)}`)).rejects.toMatchObject(refusal);
	await expect(run("echo \u0003")).rejects.toMatchObject(refusal);
	expect(await session.end()).toMatchObject({ offset });
	const longest = `echo ${"x".repeat(4_090)}`;
	expect((await run(longest)).text).toContain(`${"x".repeat(4_090)}\n`);
});

test("a command that ends the shell has ended once its last child has", async () => {
	const { run } = await start(["dash"]);
	const answer = await run("(trap '' HUP; exec sleep 0.3) & exit 7");
	expect(answer).toMatchObject({ status: "ended", exitCode: 7 });
});

test("a line read by a command in dash is not a prompt", async () => {
	const { session, run } = await start(["dash"]);
	expect(await run("read line; echo got $line", { stream: "s" })).toMatchObject({ status: "waiting" });
	expect(await run("echo no")).toMatchObject({ status: "busy" });
	await write(session, "it\r");
	await outputUntil(session, /got it/);
	expect(await run("echo yes")).toMatchObject({ status: "ended", text: expect.stringContaining("yes\n") });
});

test.each(["dash", "bash", "zsh"] as const)(
	"an incomplete command in %s is discarded, and the shell is ready again",
	async (name) => {
		const { run, home } = await start([name, ...plainArguments[name]]);
		for (const command of ["echo 'not closed", "if true; then", "cat <<END"])
			expect(await run(command)).toMatchObject({ status: "incomplete", exact: false, front: null });
		expect(await run("echo a-$((1 + 1))")).toMatchObject({ status: "ended", text: expect.stringContaining("a-2\n") });
		expect((await run("pwd")).cwd).toBe(home);
	},
);

test("a prompt that looks like a continuation prompt is a prompt", async () => {
	const { run } = await start(["dash"], { PS1: "> " });
	expect(await run("echo a-$((1 + 1))")).toMatchObject({ status: "ended", text: expect.stringContaining("a-2\n") });
});

test("a program that is not a shell, or a shell with a script, runs no command", async () => {
	for (const argv of [["cat"], ["sh", "-c", "while read line; do echo $line; done"]]) {
		const { session, run } = await start(argv);
		await expect(run("echo no")).rejects.toMatchObject({ code: "unsupported" });
		expect(await session.end()).toMatchObject({ offset: 0 });
	}
});

test("a shell that never read our hooks counts as one without hooks", async () => {
	const home = await temporaryDirectory();
	writeFileSync(join(home, ".bashrc"), "PS1='$ ' exec bash --norc");
	mkdirSync(join(home, ".hooks"));
	const asked = startOf(["bash"], { cwd: home, shellHooks: true });
	const env = { ...asked.command.env, HOME: home, TERM: "xterm-256color" };
	const hooked = await withHooks({ ...asked.command, env }, join(home, ".hooks"));
	if (!hooked) throw new Error("no hooks for bash");
	let skippedMs = 0;
	const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + skippedMs };
	const session = await LocalSession.start(
		{ ...asked, command: hooked.command },
		{ spawn, clock, shellHooks: hooked.hooks },
	);
	onTestFinished(() => session.kill({ graceMs: 0 }));
	await outputUntil(session, /\$ /);
	// The time a shell may take for its start-up files.
	skippedMs = 3_000;
	expect(await runner(session)("echo a-$((1 + 1))")).toMatchObject({
		status: "ended",
		exact: false,
		text: expect.stringContaining("a-2\n"),
	});
});
