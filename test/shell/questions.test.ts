/** Questions asked by a shell's own commands: none is taken for the prompt, so no command is typed as an answer. */

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { spawn } from "../../src/backends/spawn.ts";
import { systemClock } from "../../src/backends/system-clock.ts";
import { LocalSession } from "../../src/core/session/local-session.ts";
import { eventually, outputUntil, write } from "../support/reading.ts";
import { startOf } from "../support/starts.ts";
import { temporaryDirectory } from "../support/temporary.ts";
import { shells } from "./support/decorations.ts";
import { type PlainShellName, plainArguments, plainShells } from "./support/plain-shells.ts";
import { startShell } from "./support/shells.ts";

const TIMEOUT_MS = 10_000;
/** For a `run` that must not type. */
const SHORT_MS = 300;

/** Each reads one line or key, with prompts that look like the shell's where possible. */
const questions: Readonly<Record<PlainShellName, Readonly<Record<string, string>>>> = {
	dash: {
		read: "printf '$ '; read x",
		"read -p": "read -p '$ ' x",
		"a function": "f() { printf '$ '; read x; }; f",
	},
	bash: {
		"read -e": "read -e -p 'Delete all? ' x",
		"read -e like a prompt": "read -e -p '$ ' x",
		"read -p": "read -p '$ ' x",
		"read -s": "read -s -p '$ ' x",
		"read -n1": "read -n1 -p '$ ' x",
		select: "PS3='$ '; select x in a b; do break; done",
		"a function": "f() { read -e -p '$ ' x; }; f",
		eval: "eval \"read -e -p '$ ' x\"",
	},
	zsh: {
		read: "read 'x?$ '",
		"read -s": "read -s 'x?$ '",
		"read -k": "read -k 1 'x?$ '",
		vared: "vared -p '$ ' -c x",
		select: "PS3='$ '; select x in a b; do break; done",
		"a function": "f() { vared -p '$ ' -c x; }; f",
	},
	fish: {
		read: "read x",
		"read -p": "read -p 'echo \"\\$ \"' x",
		"read -s": "read -s x",
		"read -n1": "read -n1 x",
		"a function": "function f; read x; end; f",
	},
};

const examples = plainShells.flatMap((name) =>
	Object.entries(questions[name]).map(([kind, question]) => ({ name, kind, question })),
);

async function start(argv: readonly string[]) {
	const home = await temporaryDirectory();
	const { spec, command } = startOf(argv, { cwd: home, answersQueries: true });
	const env = { ...command.env, HOME: home, TERM: "xterm-256color", PS1: "$ " };
	const session = await LocalSession.start({ spec, command: { ...command, env } }, { spawn, clock: systemClock });
	onTestFinished(() => session.kill({ graceMs: 0 }));
	return { session, home };
}

const run = (session: LocalSession, command: string, timeoutMs = TIMEOUT_MS) =>
	session.run({ command, timeoutMs, options: {} });

/** Checks that nothing is typed although a program waits for input. */
async function expectNothingTyped(session: LocalSession, home: string) {
	const { offset } = await session.end();
	expect(await run(session, "touch typed", SHORT_MS)).toMatchObject({ status: "busy" });
	expect(await session.end()).toMatchObject({ offset });
	expect(existsSync(join(home, "typed"))).toBe(false);
}

test.each(examples)("$name without hooks: `$kind` is a question, not the prompt", async ({ name, question }) => {
	const { session, home } = await start([name, ...plainArguments[name]]);
	const asked = await run(session, question);
	expect(asked).toMatchObject({ status: "waiting", exact: false, front: { state: "waiting", program: name } });
	expect(await session.inspect()).toMatchObject({ state: "waiting" });
	await expectNothingTyped(session, home);
	await write(session, "1\r");
	await eventually("the prompt", async () => (await session.inspect()).state === "prompt");
	expect(await run(session, "touch typed")).toMatchObject({ status: "ended" });
	expect(existsSync(join(home, "typed"))).toBe(true);
});

test.each(examples)(
	"$name without hooks: `$kind` typed by a user is a question, however late its state is inspected",
	async ({ name, question }) => {
		const { session, home } = await start([name, ...plainArguments[name]]);
		await eventually("the first prompt", async () => (await session.inspect()).state === "prompt");
		await write(session, `${question}\r`);
		const { state } = await session.untilWaiting(1);
		expect(state).toBe("waiting");
		await expectNothingTyped(session, home);
	},
);

test.each(examples)("$name with -c is never at a prompt: $kind", async ({ name, question }) => {
	const { session, home } = await start([name, ...plainArguments[name], "-c", question]);
	expect(await session.untilWaiting(0)).toMatchObject({ state: "waiting", program: name });
	await expect(run(session, "touch typed", SHORT_MS)).rejects.toMatchObject({
		code: "unsupported",
		message: expect.stringContaining("not run a shell that takes commands"),
	});
	expect(existsSync(join(home, "typed"))).toBe(false);
});

test.each(examples)("$name with a script is never at a prompt: $kind", async ({ name, question }) => {
	const home = await temporaryDirectory();
	const script = join(home, "script");
	writeFileSync(script, `${question}\n`);
	const { session } = await start([name, ...plainArguments[name], script]);
	expect(await session.untilWaiting(0)).toMatchObject({ state: "waiting", program: name });
	await expect(run(session, "touch typed", SHORT_MS)).rejects.toMatchObject({ code: "unsupported" });
});

describe.each(["-c", "a script"])("in bash without hooks, another shell with %s", (how) => {
	test.each(examples)("an inner shell with a script is not at a prompt: $name $kind", async ({ name, question }) => {
		const { session, home } = await start(["bash", "--norc"]);
		writeFileSync(join(home, "script"), `${question}\n`);
		const told = how === "-c" ? `-c '${question.replaceAll("'", `'\\''`)}'` : "script";
		const asked = await run(session, [name, ...plainArguments[name], told].join(" "));
		expect(asked).toMatchObject({ status: "waiting", front: { state: "waiting", program: name } });
		await expectNothingTyped(session, home);
	});
});

test("an inner shell of the same program is at its prompt, and a question in it is not", async () => {
	const { session, home } = await start(["bash", "--norc"]);
	await run(session, "bash --norc");
	expect(await session.inspect()).toMatchObject({ state: "prompt", program: "bash" });
	const asked = await run(session, "read -e -p '$ ' x");
	expect(asked).toMatchObject({ status: "waiting", front: { state: "waiting" } });
	await expectNothingTyped(session, home);
});

describe.each(shells)("%s with hooks", (name) => {
	test.each(Object.entries(questions[name]))("`%s` is a question, not the prompt", async (_, question) => {
		const { session, home, run } = await startShell(name, { env: { PS1: "$ " } });
		expect(await run(question)).toMatchObject({ status: "waiting", exact: true, front: { state: "waiting" } });
		// fish redraws its line at times, and counts as running while it does.
		await eventually("the question", async () => (await session.inspect()).state === "waiting");
		await expectNothingTyped(session, home);
	});

	test.each(Object.entries(questions[name]))("`%s` typed by a user is not a prompt", async (_, question) => {
		const { session, home } = await startShell(name, { env: { PS1: "$ " } });
		await eventually("the prompt", async () => (await session.inspect()).state === "prompt");
		await write(session, `${question}\r`);
		await eventually("the question", async () => (await session.inspect()).state === "waiting");
		await expectNothingTyped(session, home);
	});
});

test("a shell that marks its prompt is at it with certainty", async () => {
	const { session, run } = await startShell("bash");
	// The command ends before the next prompt appears.
	await run("true");
	await outputUntil(session, /133;B.*133;C.*133;B/s);
	await eventually("the prompt", async () => (await session.inspect()).state === "prompt");
	expect(await session.inspect()).toMatchObject({ state: "prompt", confidence: "sure" });
});
