/** Shells started inside a session's shell or in its place: state, exit and run agree, and commands run in them. */

import { describe, expect, test } from "vitest";
import { eventually, write } from "../support/reading.ts";
import { type LivingShell, startShell } from "./support/shells.ts";

const outers = ["bash", "zsh", "fish", "sh"] as const;

/**
 * The command and the shell that it starts. `su` uses an account without start-up files, because those of the account
 * that runs the tests may be slow. `nix-shell` is `bash --rcfile FILE`, and `sudo -i` equals `su -`. A shell on another
 * machine can't be inspected; it has its own test.
 */
const inners = {
	"exec bash": "bash",
	"exec zsh": "zsh",
	"exec sh": "sh",
	bash: "bash",
	"bash -l": "bash",
	"bash --norc": "bash",
	"bash --rcfile other": "bash",
	zsh: "zsh",
	fish: "fish",
	sh: "sh",
	"su -s /bin/bash - nobody": "bash",
	"script -q /dev/null": "bash",
	"env -i bash": "bash",
} as const;

/** Without these, fish generates them in a process that stays in the foreground. */
const fishFiles = { ".local/share/fish/generated_completions/none": "" };

const start = (outer: (typeof outers)[number], files: Readonly<Record<string, string>> = {}): Promise<LivingShell> =>
	startShell(outer, {
		files: {
			".bashrc": "PS1='$ '",
			".zshrc": "PS1='%% '",
			other: "PS1='other> '",
			...files,
		},
		env: { SHELL: "/bin/bash", PS1: "$ " },
	});

const state = async ({ session }: LivingShell) => {
	const { state, program, confidence } = await session.inspect();
	return { state, program, isGuess: confidence === "guess" };
};

describe.each(outers)("in %s", (outer) => {
	test.each(Object.entries(inners))("`%s`: run, state and exit agree", async (command, program) => {
		const shell = await start(outer, outer === "fish" ? fishFiles : {});
		const isHooked = outer !== "sh";
		await shell.run("cd .");
		const entered = await shell.run(command);
		const isInPlace = command.startsWith("exec");
		if (isInPlace || !isHooked) expect(entered).toMatchObject({ status: "ended", exact: false, exitCode: null });
		else expect(entered).toMatchObject({ status: "waiting", exact: true, front: { state: "prompt", program } });

		const isReady = { state: "prompt", program, isGuess: false };
		expect(await state(shell)).toEqual(isReady);
		for (const text of ["one", "two"]) {
			const answer = await shell.run(`echo a-${text}-c | tr c b; sh -c 'exit 3'`);
			expect(answer).toMatchObject({ status: "ended", exact: false, exitCode: null, front: null });
			expect(answer.text).toContain(`a-${text}-b\n`);
			expect(await state(shell)).toEqual(isReady);
		}
		const asked = await shell.run("sh -c 'printf \"name? \"; read name; echo hello $name'");
		expect(asked).toMatchObject({ status: "waiting", exact: false, front: { state: "waiting", kind: "line" } });
		expect(await shell.run("echo no", 300)).toMatchObject({ status: "busy", why: "command", exact: false });
		await write(shell.session, "you\r");
		await eventually("the prompt", async () => (await state(shell)).state === "prompt");

		if (isInPlace) {
			expect(await shell.run("exit 5")).toMatchObject({ status: "ended", exitCode: 5 });
			return;
		}
		expect(await shell.run("exit 5")).toMatchObject({ status: "ended", exact: false });
		expect(await state(shell)).toEqual({ state: "prompt", program: outer, isGuess: false });
		if (!isHooked) return;
		// `script` exits with 0 whatever its shell's exit code.
		const exitCode = command.startsWith("script") ? 0 : 5;
		expect((await shell.session.commands()).commands.at(-1)).toMatchObject({ command, exitCode });
		for (const code of [7, 0]) {
			const answer = await shell.run(`echo back; sh -c 'exit ${code}'`);
			expect(answer).toMatchObject({ status: "ended", exact: true, exitCode: code, text: "back\n" });
		}
	});
});

test.each([
	["zsh", "vared -p '% ' -c x"],
	["zsh", "read 'x?% '"],
	["fish", "read -p 'echo \"> \"' x"],
	["sh", "printf '$ '; read x"],
	["bash", "read -e -p '$ ' x"],
] as const)("in bash, no command is typed into a question of an inner %s: `%s`", async (inner, question) => {
	const shell = await start("bash", fishFiles);
	await shell.run("true");
	await write(shell.session, `${inner}\r`);
	const ready = () => eventually(`${inner} at its prompt`, async () => (await state(shell)).program === inner);
	await ready();
	await eventually("its prompt", async () => (await state(shell)).state === "prompt");
	expect(await shell.run(question)).toMatchObject({ status: "waiting", exact: false, front: { state: "waiting" } });
	const { offset } = await shell.session.end();
	expect(await shell.run("touch typed", 300)).toMatchObject({ status: "busy", why: "command" });
	expect(await shell.session.end()).toMatchObject({ offset });
});

test("a shell on another machine is busy, because it can't be inspected; afterwards the hooks work again", async () => {
	const shell = await start("bash");
	// Reads keys from a raw terminal as ssh does, and ends after three.
	await shell.run("cp $(type -P head) ssh");
	const entered = await shell.run("stty raw -echo; ./ssh -c 3 >/dev/null; stty sane", 500);
	expect(entered).toMatchObject({ status: "running", exact: true, front: { state: "unknown", kind: "relay" } });
	expect(await shell.run("echo no", 300)).toMatchObject({ status: "busy", why: "command", front: { kind: "relay" } });
	await write(shell.session, "bye");
	const left = await shell.session.run({ command: entered.seq ?? 0, timeoutMs: 5_000, options: {} });
	expect(left).toMatchObject({ status: "ended", exact: true, exitCode: 0 });
	expect(await shell.run("(exit 3)")).toMatchObject({ status: "ended", exact: true, exitCode: 3 });
});

test.each(["bash", "zsh"] as const)("an inner shell of %s inherits nothing of the hooks", async (outer) => {
	const exported = "export PS1='$ ' PS2='more ' PS4='+ '; set -a";
	const shell = await startShell(outer, { files: { ".bashrc": exported, ".zshrc": exported } });
	await shell.run("true");
	const { text } = await shell.run("env");
	expect(text).toMatch(/^HOME=/m);
	expect(text).not.toMatch(/__hawser|133;|^PROMPT_COMMAND/m);
	await shell.run("sh");
	const answer = await shell.run("echo a-1-c | tr c b");
	expect(answer.text).toContain("a-1-b\n");
	expect(answer.text).not.toMatch(/133;|[0-9a-f]{24}/);
});
