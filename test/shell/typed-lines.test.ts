/** Lines typed by a user at a shell's prompt, which commands must not replace. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Session } from "../../src/core/session/session.ts";
import { eventually, outputUntil, write } from "../support/reading.ts";
import { type ShellName, shells } from "./support/decorations.ts";
import { type LivingShell, startShell, textOf, UNTIL_GO } from "./support/shells.ts";

const BUSY = { status: "busy", why: "typed" };
const BACKSPACE = "\u007f";
const INTERRUPT = "\u0003";
const MOST_PRESSES = 5;

/** The output of the command with this number, once it has ended and is the newest. */
async function outputOf(session: Session, wanted: number): Promise<string> {
	const range = await eventually(`the end of command ${wanted}`, async () => {
		const { seq, from, to = null } = (await session.commands()).commands.at(-1) ?? {};
		return seq === wanted && from !== undefined && to !== null && { from, to };
	});
	return textOf(session, range);
}

/**
 * Presses keys that empty the line, then runs a command. fish 3 drops a ^C that arrives just as a thread of its own, such
 * as the one that highlights the line, reports a result: the line stays as it was, with and without hooks. A user presses
 * ^C again.
 */
async function runAfter(keys: string, { session, run }: LivingShell, name: ShellName): ReturnType<LivingShell["run"]> {
	const isDropped = name === "fish" && keys === INTERRUPT;
	for (let presses = 1; ; presses++) {
		await write(session, keys);
		const answer = await run("echo wanted");
		if (answer.status !== "busy" || !isDropped || presses === MOST_PRESSES) return answer;
		expect(answer).toMatchObject(BUSY);
	}
}

describe.each(shells)("%s with hooks", (name) => {
	test("a line begun while a command ran is kept, and no command runs before it ends", async () => {
		const { session, home, run } = await startShell(name);
		await run("true");
		expect(await run(UNTIL_GO, 200)).toMatchObject({ status: "running" });
		await write(session, "echo ha");
		await outputUntil(session, /echo ha/);
		writeFileSync(join(home, "go"), "");
		await session.run({ command: 2, timeoutMs: 10_000, options: {} });
		expect(await run("echo unwanted")).toMatchObject(BUSY);
		await write(session, "lf\r");
		expect(await outputOf(session, 3)).toBe("half\n");
		expect(await run("echo wanted")).toMatchObject({ status: "ended", text: "wanted\n", exitCode: 0 });
	});

	test("a recalled line is kept", async () => {
		const { session, run } = await startShell(name);
		await write(session, "echo again\r");
		expect(await outputOf(session, 1)).toBe("again\n");
		await write(session, "\u001b[A");
		expect(await run("echo unwanted")).toMatchObject(BUSY);
		await write(session, "\r");
		expect(await outputOf(session, 2)).toBe("again\n");
		expect(await run("echo wanted")).toMatchObject({ status: "ended", text: "wanted\n" });
	});

	test.each([
		["Backspace", BACKSPACE.repeat(5)],
		["^U", "\u0015"],
		["^W", "\u0017"],
		["^C", INTERRUPT],
		["Enter", "\u0015\r"],
	])("a line erased by %s does not block commands", async (_, keys) => {
		const shell = await startShell(name);
		await write(shell.session, "wrong");
		expect(await shell.run("echo unwanted")).toMatchObject(BUSY);
		expect(await runAfter(keys, shell, name)).toMatchObject({ status: "ended", text: "wanted\n", exitCode: 0 });
	});

	test("a program started ahead gets no key of a command that is refused meanwhile", async () => {
		const { session, home, run } = await startShell(name);
		await run("true");
		expect(await run(UNTIL_GO, 200)).toMatchObject({ status: "running" });
		await write(session, "cat >taken\r");
		writeFileSync(join(home, "go"), "");
		await session.run({ command: 2, timeoutMs: 10_000, options: {} });
		expect(await run("echo unwanted", 500)).toMatchObject({ status: "busy", why: "command" });
		await eventually("cat", async () => (await session.inspect()).program === "cat");
		await write(session, "mine\r\u0004");
		await eventually("the end of cat", async () => (await session.commands()).commands.at(-1)?.exitCode === 0);
		expect(await run("cat taken")).toMatchObject({ status: "ended", text: "mine\n" });
	});

	test("a kept line sees the same exit code and last argument", async () => {
		const { session, run } = await startShell(name);
		await write(session, "sh -c 'exit 7' last\r");
		await eventually("its end", async () => (await session.commands()).commands.at(-1)?.exitCode === 7);
		await write(session, name === "fish" ? "echo $status" : "echo $? $_");
		expect(await run("echo unwanted")).toMatchObject(BUSY);
		await write(session, "\r");
		expect(await outputOf(session, 2)).toBe(name === "fish" ? "7\n" : "7 last\n");
	});

	test("a command right after a signal waits for the new prompt", async () => {
		const { session, run } = await startShell(name);
		await run("true");
		for (let turn = 0; turn < 10; turn++) {
			await eventually("the prompt", async () => (await session.inspect()).state === "prompt");
			const act = session.act({ kind: "signal", signal: "SIGINT" });
			expect(await run(`echo ${turn}`)).toMatchObject({ status: "ended", text: `${turn}\n`, exitCode: 0 });
			await act;
		}
	});

	test("an incomplete line blocks commands like a typed one", async () => {
		const shell = await startShell(name);
		const { session, run } = shell;
		await write(session, "echo 'open\r");
		// fish takes all lines of a command at one prompt.
		if (name !== "fish")
			await eventually("the prompt for the rest", async () => (await session.inspect()).state === "waiting");
		expect(await run("echo unwanted")).toMatchObject(BUSY);
		if (name !== "fish") {
			await write(session, INTERRUPT);
			await eventually("the prompt", async () => (await session.inspect()).state === "prompt");
		}
		expect(await runAfter(INTERRUPT, shell, name)).toMatchObject({ status: "ended", text: "wanted\n" });
	});
});
