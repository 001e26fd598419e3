// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the shells expand these.
/** Exit codes after a user's own line has taken the place of the hooks: each is right, or none is reported. */

import { describe, expect, test } from "vitest";
import { isWaitingForInput } from "../../src/core/inspect/inspection.ts";
import { eventually, outputUntil, write } from "../support/reading.ts";
import { type LivingShell, startShell, textOf } from "./support/shells.ts";

/** Lines found in dotfiles, and worse ones. */
const TAKERS = {
	bash: [
		'PROMPT_COMMAND="history -a; $PROMPT_COMMAND"',
		'PROMPT_COMMAND="$PROMPT_COMMAND; history -a"',
		'PROMPT_COMMAND="${PROMPT_COMMAND:+$PROMPT_COMMAND; }true"',
		"PROMPT_COMMAND=true",
		"PROMPT_COMMAND=(true false)",
		'PROMPT_COMMAND=(true "${PROMPT_COMMAND[@]}")',
		'PROMPT_COMMAND=$"true\\n$PROMPT_COMMAND"',
		"OLD=$PROMPT_COMMAND; PROMPT_COMMAND='true; eval \"$OLD\"'",
		'OLD=$PROMPT_COMMAND; own() { true; eval "$OLD"; }; PROMPT_COMMAND=own',
		"unset PROMPT_COMMAND",
		"unset PROMPT_COMMAND PS0",
		"unset PS0",
		"readonly PROMPT_COMMAND=true",
		"PS1='new> '",
		"PROMPT_COMMAND='PS1=\"$? new> \"'",
		"trap 'true' DEBUG",
		"PS0='own '",
		"__hawser_done() { true; }",
		"set -k",
		"set -o posix",
	],
	zsh: [
		"h() { true; }; precmd_functions=(h)",
		"precmd() { true; }",
		"h() { true; for f in $precmd_functions; do [[ $f == h ]] || $f; done; }; precmd_functions+=(h)",
		"OLD=($precmd_functions); h() { true; for f in $OLD; do $f; done; }; precmd_functions=(h)",
		"unset precmd_functions",
		"unset precmd_functions preexec_functions",
		"preexec_functions=()",
		"PROMPT_EOL_MARK=",
		"setopt no_prompt_sp; h() { true; }; precmd_functions=(h $precmd_functions)",
		"PS1='new> '",
		"setopt ksh_arrays",
		"setopt err_return",
		"trap 'true' DEBUG",
		"readonly precmd_functions=(true)",
		"readonly PROMPT_EOL_MARK=end",
		"readonly PS1='new> '",
	],
	fish: [
		"function fish_prompt; echo 'new> '; end",
		"function fish_prompt; false; end",
		"functions -e fish_prompt",
		"function fish_right_prompt; date; end",
		"function own --on-event fish_postexec; true; end",
		"function own --on-event fish_prompt; true; end",
		"set fish_trace 1",
	],
} as const;

const CODES = [42, 0, 7];

async function codeTyped(shell: LivingShell, command: string): Promise<number | null> {
	const known = (await shell.session.commands()).commands.at(-1)?.seq ?? 0;
	await write(shell.session, `${command}\r`);
	return eventually("the end of what was typed", async () => {
		const { commands } = await shell.session.commands();
		const last = commands.at(-1);
		return last !== undefined && last.seq > known && last.to !== null && { exitCode: last.exitCode };
	}).then(({ exitCode }) => exitCode);
}

describe.each(["bash", "zsh", "fish"] as const)("in %s", (name) => {
	test.each(TAKERS[name])("every exit code is right after `%s` was run", async (taker) => {
		const shell = await startShell(name);
		await shell.run(taker);
		for (const code of CODES) {
			const answer = await shell.run(`sh -c 'echo ${code}; exit ${code}'`);
			expect(answer).toMatchObject({ status: "ended", exact: true, exitCode: code });
			expect(answer.text).toContain(`${code}\n`);
		}
	});

	test.each(TAKERS[name])("every exit code is right after `%s` was typed", async (taker) => {
		const shell = await startShell(name);
		await shell.run("true");
		await codeTyped(shell, taker);
		for (const code of CODES) {
			const answer = await shell.run(`sh -c 'exit ${code}'`);
			expect(answer).toMatchObject({ status: "ended", exact: true, exitCode: code });
			expect(await codeTyped(shell, `sh -c 'exit ${code}'`)).toBe(code);
		}
	});
});

test("commands of bash end before the prompt commands that it runs itself", async () => {
	const shell = await startShell("bash");
	await shell.run("true");
	for (const command of ['eval "$PROMPT_COMMAND"', 'eval "${PROMPT_COMMAND[@]}"', 'echo "${PS1@P}${PS0@P}"']) {
		const answer = await shell.run(`${command}; sleep 0.1; echo last; (exit 42)`);
		expect(answer).toMatchObject({ status: "ended", exact: true, exitCode: 42 });
		expect(answer.text).toMatch(/last\n$/);
		expect(await codeTyped(shell, `${command}; sleep 0.1; (exit 43)`)).toBe(43);
	}
});

test("a command whose exit code bash hides has none, and is reported as not exact", async () => {
	const shell = await startShell("bash");
	await shell.run("shopt -u promptvars");
	expect(await shell.run("(exit 42)")).toMatchObject({ status: "ended", exact: false, exitCode: null });
	await shell.run("shopt -s promptvars");
	expect(await shell.run("(exit 42)")).toMatchObject({ status: "ended", exact: true, exitCode: 42 });
});

test("a new PROMPT_COMMAND replaces the user's former one", async () => {
	const shell = await startShell("bash", { files: { ".bashrc": "PROMPT_COMMAND='echo old >>log'" } });
	const logged = async () => {
		await shell.run("true");
		await shell.run("true");
		await shell.run("rm -f log");
		return (await shell.run("cat log")).text;
	};
	expect(await logged()).toBe("old\n");
	await shell.run('PROMPT_COMMAND="echo before >>log; $PROMPT_COMMAND; echo after >>log"');
	expect(await logged()).toBe("before\nold\nafter\n");
	await shell.run("PROMPT_COMMAND='echo new >>log'");
	expect(await logged()).toBe("new\n");
	await shell.run("PROMPT_COMMAND+=('echo more >>log')");
	expect(await logged()).toBe("new\nmore\n");
	await shell.run("PROMPT_COMMAND=; touch log");
	expect(await logged()).toBe("more\n");
	await shell.run("unset PROMPT_COMMAND");
	expect(await logged()).toMatch(/No such file/);
});

/** The text that zsh adds to output without a final newline. */
const ENDS_OF_LINES = { "PROMPT_EOL_MARK=": "", "unset PROMPT_EOL_MARK": "#", "PROMPT_EOL_MARK='%S~%s'": "~" };

describe.each(Object.entries(ENDS_OF_LINES))("zsh with `%s`", (setting, mark) => {
	test.each([
		["as a command", ""],
		["in the user's file", setting],
	])("reports the output alone (%s), and shows the user's mark", async (_, file) => {
		const shell = await startShell("zsh", { files: { ".zshrc": file } });
		if (file === "") await shell.run(setting);
		for (let turn = 0; turn < 2; turn++) {
			expect(await shell.run("echo line")).toMatchObject({ exact: true, exitCode: 0, text: "line\n" });
			expect(await shell.run("printf part; (exit 3)")).toMatchObject({ exact: true, exitCode: 3, text: "part" });
		}
		const { offset } = await shell.session.end();
		await write(shell.session, "printf rest\r");
		const shown = await outputUntil(shell.session, /133;C.*133;B/s, { offset });
		const visible = shown.replaceAll(/\u001b\][^\u001b]*\u001b\\|\u001b\[[\d?;]*[a-zA-Z]/g, "");
		expect(visible).toMatch(new RegExp(`rest${mark} {10}`));
	});
});

describe.each(["bash", "zsh"] as const)("%s with options that end or trace commands", (name) => {
	test.each(["set -e", "set -x", "set -u", "trap 'echo ERR' ERR", "set -e; set -x; set -u; trap 'echo ERR' ERR"])(
		"the shell survives `%s` and `! true`, and shows no key",
		async (options) => {
			const shell = await startShell(name);
			await shell.run(options);
			const { offset: from } = await shell.session.end();
			for (let turn = 0; turn < 3; turn++) {
				const answer = await shell.run("! true");
				expect(answer).toMatchObject({ status: "ended", exact: true, exitCode: 1 });
				expect(answer.text).not.toContain("ERR");
			}
			await write(shell.session, "half");
			await eventually("a prompt", async () => (await shell.session.inspect()).state === "prompt");
			const { offset } = await shell.session.end();
			await write(shell.session, "\u0003");
			await outputUntil(shell.session, /133;B/, { offset });
			expect(await codeTyped(shell, "! true")).toBe(1);
			const { offset: to } = await shell.session.end();
			expect(await textOf(shell.session, { from, to })).not.toMatch(/[0-9a-f]{24}(?!\u001b)|__hawser/);
		},
	);
});

test.each([
	["bash", "unset PROMPT_COMMAND PS0 PS1"],
	["zsh", "PROMPT_EOL_MARK=; precmd_functions=()"],
] as const)("%s that has removed all its marks by `%s` takes the next command", async (name, taker) => {
	const shell = await startShell(name);
	await shell.run("true");
	expect(await shell.run(taker)).toMatchObject({ status: "ended", exact: false, exitCode: null });
	const answer = await shell.run("echo a-1-c | tr c b");
	expect(answer).toMatchObject({ status: "ended", exact: false });
	expect(answer.text).toContain("a-1-b");
});

test("a first line that removes all marks does not block commands", async () => {
	const started: LivingShell[] = [];
	for (let count = 0; count < 3; count++) {
		const shell = await startShell("bash");
		await outputUntil(shell.session, /133;B/);
		started.push(shell);
	}
	// A line that ends before the shell was seen at its first prompt leaves no way to tell its prompts from questions. The
	// first of these shells have been seen by now.
	const answers = started.map(async ({ session, run }) => {
		await write(session, "unset PROMPT_COMMAND PS0 PS1\r");
		await eventually("the next prompt", async () => isWaitingForInput(await session.inspect()));
		return run("echo a-1-c | tr c b");
	});
	const ended = { status: "ended", exact: false, text: expect.stringContaining("a-1-b") };
	expect(await Promise.all(answers)).toContainEqual(expect.objectContaining(ended));
});

test("a command that removes all marks ends for a caller that waits in short slices", async () => {
	const { session, run } = await startShell("bash");
	let answer = await run("unset PROMPT_COMMAND PS0 PS1", 100);
	for (let slice = 0; slice < 50 && answer.status === "running"; slice++) {
		answer = { ...(await session.run({ command: answer.seq ?? 1, timeoutMs: 250, options: {} })), text: "" };
	}
	expect(answer).toMatchObject({ status: "ended", exact: false, exitCode: null });
});

test("zsh whose preexec_functions are read-only reports exit codes of commands that it fetches", async () => {
	const shell = await startShell("zsh");
	await shell.run("readonly preexec_functions=(true)");
	for (const exitCode of CODES) {
		expect(await shell.run(`(exit ${exitCode})`)).toMatchObject({ status: "ended", exact: true, exitCode });
	}
});

test("`bash --rcfile FILE` has hooks, and reads that file instead of the usual one", async () => {
	const files = { ".bashrc": "OWN=usual", other: "OWN=other" };
	for (const option of ["--rcfile", "--init-file"]) {
		const shell = await startShell("bash", { files, arguments: [option, "other"] });
		const answer = await shell.run("echo $OWN; (exit 3)");
		expect(answer).toMatchObject({ status: "ended", exact: true, exitCode: 3, text: "other\n" });
	}
});
