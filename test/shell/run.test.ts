/** Commands in living shells: what they wrote, how they ended, and that each runs once. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/backends/clock.ts";
import { eventually, outputUntil, write } from "../helpers/reading.ts";
import { shells } from "./decorations.ts";
import { randomCommands } from "./random-commands.ts";
import { bytesOf, startShell, textOf, UNTIL_GO } from "./shells.ts";

/** Of the thousand that the benchmark runs. */
const RANDOM_COMMANDS = 60;

/** One in a hundred was not given up on a busy machine. */
const UNFINISHED_COMMANDS = 30;

const RUN = "run with exact output, exit code, offsets in a living shell";

describe.each(shells)("%s", (name) => {
	test.each([false, true])("a command's output and exit code are told exactly (decorated: %s)", async (isDecorated) => {
		const shell = await startShell(name, { isDecorated });
		for (const [command, text, exitCode] of [
			["echo hello", "hello\n", 0],
			["printf 'no newline'", "no newline", 0],
			["printf '\\033[31mred\\033[m'", "\u001b[31mred\u001b[m", 0],
			["true", "", 0],
			["false", "", 1],
			["sh -c 'exit 42'", "", 42],
			["printf 'a\\tb\\n'; echo 'x!y' \"a!b\"", "a\tb\nx!y a!b\n", 0],
			["echo one\necho two", "one\ntwo\n", 0],
			["echo 'grüße 日本 🎉'", "grüße 日本 🎉\n", 0],
			["sleep 0.05; echo done >&2", "done\n", 0],
		] as const) {
			const answer = await shell.run(command);
			expect([command, answer.status, answer.text, answer.exitCode]).toEqual([command, "ended", text, exitCode]);
		}
	});

	test(`${RUN}: ${RANDOM_COMMANDS} random commands in a decorated shell, 0 wrong`, async () => {
		const shell = await startShell(name, { isDecorated: true });
		for (const { command, text, exitCode } of randomCommands(RANDOM_COMMANDS, 17)) {
			const answer = await shell.run(command);
			expect({ command, text: answer.text, exitCode: answer.exitCode }).toEqual({ command, text, exitCode });
		}
	});

	test("long input that always arrives: a heredoc of 24 KB with tabs, whatever the line editor does with them", async () => {
		const shell = await startShell(name, { isDecorated: true });
		const lines = Array.from({ length: 600 }, (_, index) => `\tline ${index}\t!$ "$(x)" \\ 'y' ${"z".repeat(12)}`);
		const text = `${lines.join("\n")}\n`;
		const quoted = `'${text.replaceAll("\\", "'\\\\'").replaceAll(/(?<!\\)'(?!\\)/g, "'\\''")}'`;
		// fish has no heredocs.
		const command = name === "fish" ? `printf %s ${quoted} >file` : `cat >file <<'END'\n${text}END`;
		for (let turn = 0; turn < 3; turn++) {
			expect(await shell.run(`rm -f file\n${command}`)).toMatchObject({ status: "ended", exitCode: 0 });
			expect(readFileSync(join(shell.home, "file"), "utf8")).toBe(text);
		}
	});

	test("no command stands for one of the history, not even a fresh shell's first, and a typed line may", async () => {
		const files = {
			bash: { ".bash_history": "echo SECRET-FROM-HISTORY\n" },
			zsh: { ".zshrc": "HISTFILE=~/history HISTSIZE=9 SAVEHIST=9\n", history: "echo SECRET-FROM-HISTORY\n" },
			fish: { ".local/share/fish/fish_history": "- cmd: echo SECRET-FROM-HISTORY\n  when: 1700000000\n" },
		}[name];
		const shell = await startShell(name, { files });
		const command = 'echo "a!! b!e" !!\necho !!';
		const ended = { status: "ended", text: "a!! b!e !!\n!!\n", exitCode: 0 };
		expect(await shell.run(command)).toMatchObject(ended);
		expect(await shell.run(command)).toMatchObject(ended);
		// fish has none.
		const typed = name === "fish" ? "echo SECRET-FROM-HISTORY again" : "echo !?SECRET?:1 again";
		await write(shell.session, `${typed}\r`);
		const output = await eventually("the end of what was typed", async () => {
			const { seq, from, to = null } = (await shell.session.commands()).commands.at(-1) ?? {};
			return seq === 3 && from !== undefined && to !== null && { from, to };
		});
		expect(await textOf(shell.session, output)).toBe("SECRET-FROM-HISTORY again\n");
		expect(await shell.run(command)).toMatchObject(ended);
	});

	test("the directory after a command is told, with odd names too", async () => {
		const shell = await startShell(name);
		expect(await shell.run("mkdir -p 'a %20 b;c'; cd 'a %20 b;c'")).toMatchObject({
			exitCode: 0,
			cwd: join(shell.home, "a %20 b;c"),
		});
	});

	test(`${RUN}: forged marks are ignored`, async () => {
		const shell = await startShell(name);
		const forged = String.raw`printf '\033]133;D;7\033\\\033]133;D;7;h=000000000000000000000000\033\\\033]133;B\033\\ok\n'; sh -c 'exit 3'`;
		const answer = await shell.run(forged);
		expect(answer).toMatchObject({ status: "ended", exitCode: 3 });
		expect(answer.text).toContain("ok");
	});

	test(`${RUN}: the shell's own marks, printed again in it, or made of its key, are ignored`, async () => {
		const shell = await startShell(name);
		await shell.run("false");
		const { offset: to } = await shell.session.end();
		const before = Buffer.from(await bytesOf(shell.session, { from: 0, to })).toString();
		const [, key = ""] = /;h=([0-9a-f]{24})/.exec(before) ?? [];
		const made = Array.from({ length: 9 }, (_, turn) => `\u001b]133;D;7;n=${turn};h=${key}\u001b\\`).join("");
		writeFileSync(join(shell.home, "replayed"), before);
		writeFileSync(join(shell.home, "made"), made);
		expect(await shell.run("cat replayed made; sh -c 'exit 3'")).toMatchObject({ status: "ended", exitCode: 3 });
		// Of what is typed its number alone tells that it is not old.
		await write(shell.session, "cat replayed; sh -c 'exit 4'\r");
		const commands = await eventually("the end of what was typed", async () => {
			const { commands } = await shell.session.commands();
			return commands.length > 2 && commands.at(-1)?.to !== null && commands;
		});
		expect(commands.map(({ exitCode }) => exitCode)).toEqual([1, 3, 4]);
		expect(await shell.run("echo on")).toMatchObject({ status: "ended", exitCode: 0, text: "on\n" });
	});

	test("a command that waits for somebody says so, and goes on being waited for", async () => {
		const shell = await startShell(name);
		const waiting = await shell.run("sh -c 'printf \"name? \"; read name; echo hello $name; exit 5'");
		expect(waiting).toMatchObject({ status: "waiting", exitCode: null, front: { state: "waiting", kind: "line" } });
		expect(await shell.run("echo no")).toMatchObject({ status: "busy", seq: null });
		await write(shell.session, "you\r");
		const ended = await shell.session.run({ command: waiting.seq ?? 0, timeoutMs: 5_000, options: {} });
		expect(ended).toMatchObject({ status: "ended", exitCode: 5, seq: waiting.seq });
	});

	test("a command that takes longer than the caller waits is running, and can be waited for again", async () => {
		const shell = await startShell(name);
		await shell.run("true");
		const request = { command: `${UNTIL_GO}; echo late`, options: { origin: { stream: "s", position: 0 } } };
		// Busy, while the shell is on its way to its prompt.
		const first = await eventually("that it is sent", async () => {
			const answer = await shell.session.run({ ...request, timeoutMs: 100 });
			return answer.status !== "busy" && answer;
		});
		expect(first).toMatchObject({ status: "running", exitCode: null });
		writeFileSync(join(shell.home, "go"), "");
		const again = await shell.session.run({ ...request, timeoutMs: 5_000 });
		expect(again).toMatchObject({ status: "ended", exitCode: 0, seq: first.seq });
		expect((await shell.session.commands()).commands.filter(({ command }) => command === request.command)).toHaveLength(
			1,
		);
	});

	test("of two that ask for the same command at the same time, one sends it, and both hear how it ends", async () => {
		const shell = await startShell(name);
		const request = { command: "echo x >>count", timeoutMs: 5_000, options: { origin: { stream: "s", position: 0 } } };
		const both = () => Promise.all([shell.session.run(request), shell.session.run(request)]);
		const first = await both();
		for (const answer of first) expect(answer).toMatchObject({ status: "ended", exitCode: 0, seq: first[0].seq });
		expect(readFileSync(join(shell.home, "count"), "utf8")).toBe("x\n");
	});

	test("of two commands that are sent at the same time, each runs as itself or not at all", async () => {
		const shell = await startShell(name);
		const texts = ["echo one", "echo two"];
		const answers = await Promise.all(texts.map((command) => shell.run(command)));
		expect(answers.map(({ status }) => status)).toEqual(["ended", "busy"]);
		expect(answers[0]?.text).toBe("one\n");
	});

	test("what the shell will not run is rejected, what is not whole is given up, and the shell is ready again", async () => {
		const shell = await startShell(name, { isDecorated: true });
		const rejected = await shell.run(name === "fish" ? "echo (" : "echo )");
		expect(["rejected", "incomplete"]).toContain(rejected.status);
		const senseless = await shell.run(name === "fish" ? "end" : "done");
		expect(senseless.status).toBe("rejected");
		expect(senseless.text).toMatch(/done|end/);
		expect(senseless.text).not.toMatch(/[0-9a-f]{24}|\.hooks/);
		// Its message alone: what the line editor drew is no word of the shell.
		if (name !== "fish") expect(senseless.text.trim()).toMatch(/^\S*(?:bash|zsh): .*`done'$/);
		expect(await shell.run(name === "fish" ? "if true" : "if true; then")).toMatchObject({
			status: "incomplete",
			text: "",
		});
		expect(await shell.run("echo fine")).toMatchObject({ status: "ended", text: "fine\n", exitCode: 0 });
	});

	test("what is not whole is given up, time after time", async () => {
		const shell = await startShell(name);
		for (let turn = 0; turn < UNFINISHED_COMMANDS; turn++)
			expect(await shell.run(name === "fish" ? "if true" : "if true; then")).toMatchObject({ status: "incomplete" });
		expect(await shell.run("echo fine")).toMatchObject({ status: "ended", text: "fine\n", exitCode: 0 });
	});

	test("nothing is run while somebody types", async () => {
		const shell = await startShell(name);
		await shell.run("true");
		const { offset } = await shell.session.end();
		await write(shell.session, "echo mi");
		await outputUntil(shell.session, /mi/, { offset });
		expect(await shell.run("echo no", 200)).toMatchObject({ status: "busy" });
		await write(shell.session, "ne\r");
		await eventually("the end of what was typed", async () => {
			const last = (await shell.session.commands()).commands.at(-1);
			return last?.endedAt !== null && last?.command === "echo mine";
		});
		expect((await shell.session.commands()).commands.at(-1)).toMatchObject({ command: "echo mine", exitCode: 0 });
		expect(await shell.run("echo yes")).toMatchObject({ status: "ended", text: "yes\n" });
	});

	test("a command that ends the shell ends with the shell's exit code", async () => {
		const shell = await startShell(name);
		expect(await shell.run("echo bye; exit 9")).toMatchObject({ status: "ended", exitCode: 9 });
		await expect(shell.run("echo no")).rejects.toMatchObject({ code: "session_closed" });
	});

	test("the shell has the user's own files and none of ours", async () => {
		const rc = { bash: ".bashrc", zsh: ".zshrc", fish: ".config/fish/config.fish" }[name];
		const own = name === "fish" ? "set -g OWN mine" : "OWN=mine";
		const shell = await startShell(name, { files: { [rc]: own } });
		expect((await shell.run("echo $OWN")).text).toBe("mine\n");
		const environment = (await shell.run("env")).text;
		expect(environment).not.toMatch(/^(HAWSER_(?!SESSION)|ZDOTDIR|__hawser|PROMPT_COMMAND)/m);
		await eventually("that our files are gone", () => readdirSync(join(shell.home, ".hooks")).length === 0);
	});
});

test.each(["bash", "zsh"] as const)("%s tells of its commands when its own output goes elsewhere", async (name) => {
	const shell = await startShell(name);
	expect(await shell.run("exec >elsewhere")).toMatchObject({ status: "ended", exitCode: 0 });
	expect(await shell.run("mkdir in; cd in; echo seen >&2; echo unseen")).toMatchObject({
		status: "ended",
		text: "seen\n",
		exitCode: 0,
		cwd: join(shell.home, "in"),
	});
	expect(await shell.run("false")).toMatchObject({ status: "ended", exitCode: 1 });
	const elsewhere = readFileSync(join(shell.home, "elsewhere"), "utf8");
	expect(elsewhere).toContain("unseen\n");
	expect(elsewhere).not.toMatch(/\](?:133|633);|\]7;/);
});

test.each(["bash", "zsh"] as const)("a login shell of %s reads what a login shell reads", async (name) => {
	const profile = name === "bash" ? ".bash_profile" : ".zprofile";
	const shell = await startShell(name, { files: { [profile]: "OWN=login" }, arguments: ["-l"] });
	expect((await shell.run("echo $OWN")).text).toBe("login\n");
});

test("zsh keeps the user's own ZDOTDIR", async () => {
	const shell = await startShell("zsh", {
		files: { ".zshenv": "export ZDOTDIR=$HOME/dots", "dots/.zshrc": "OWN=dots" },
	});
	expect((await shell.run("echo $OWN $ZDOTDIR:t")).text).toBe("dots dots\n");
});

test("a shell within a shell runs until it ends, and its own prompts are none of ours", async () => {
	const shell = await startShell("bash", { files: { ".bashrc": "export PS1='$ '" } });
	const inner = await shell.run("bash --norc");
	expect(inner).toMatchObject({ status: "waiting" });
	expect(await shell.run("echo no")).toMatchObject({ status: "busy" });
	await write(shell.session, "exit 4\r");
	const outer = await shell.session.run({ command: inner.seq ?? 0, timeoutMs: 5_000, options: {} });
	expect(outer).toMatchObject({ status: "ended", exitCode: 4 });
});

test("a repeat that is another command than the first is refused", async () => {
	const shell = await startShell("bash");
	const options = { origin: { stream: "s", position: 0 } };
	expect(await shell.session.run({ command: "echo one", timeoutMs: 5_000, options })).toMatchObject({
		status: "ended",
	});
	await expect(shell.session.run({ command: "echo two", timeoutMs: 5_000, options })).rejects.toMatchObject({
		code: "invalid_argument",
	});
});

/** As long as a shell may take for its files. */
const HOOKS_MS = 3_000;

describe.each(["exec 2>/dev/null", "unset PROMPT_COMMAND PS0"])("bash after `%s`", (deed) => {
	test("is a plain shell, for its marks do not come any more", async () => {
		let skippedMs = 0;
		const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + skippedMs };
		const shell = await startShell("bash", { clock });
		expect(await shell.run(deed)).toMatchObject({ status: "ended" });
		skippedMs = HOOKS_MS;
		for (const name of ["one", "two"])
			expect(await shell.run(`echo x >${name}`)).toMatchObject({ status: "ended", exact: false, exitCode: null });
		expect(readFileSync(join(shell.home, "two"), "utf8")).toBe("x\n");
		// Busy, while it is not seen that the shell is at its prompt.
		const last = await eventually("that it is typed", async () => {
			const answer = await shell.run("sleep 10", 100);
			return answer.status !== "busy" && answer;
		});
		expect(last).toMatchObject({ status: "running", exact: false });
	});
});

test("bash runs commands after `exec >/dev/null`", async () => {
	const shell = await startShell("bash");
	expect(await shell.run("exec >/dev/null")).toMatchObject({ status: "ended" });
	for (const name of ["one", "two"]) expect(await shell.run(`echo x >${name}`)).toMatchObject({ status: "ended" });
	expect(readFileSync(join(shell.home, "two"), "utf8")).toBe("x\n");
});

test.each([
	// Without a job of its own, what runs beside it is in front as well.
	["bash", "set +m; while :; do :; done & read -e line; kill $!; echo got $line"],
	["fish", "read line; echo got $line"],
] as const)("a command of the own line editor of %s waits for somebody", async (name, command) => {
	const shell = await startShell(name);
	const asked = await shell.run(command);
	expect(asked).toMatchObject({ status: "waiting", exact: true });
	await write(shell.session, "it\r");
	const ended = await shell.session.run({ command: asked.seq ?? 0, timeoutMs: 5_000, options: {} });
	expect(ended).toMatchObject({ status: "ended", exitCode: 0 });
	expect(await shell.run("echo fine")).toMatchObject({ status: "ended", text: "fine\n" });
});
