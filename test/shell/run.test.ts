/** Commands in running shells: their output, their exit codes, and that each runs once. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/backends/system-clock.ts";
import { eventually, outputUntil, write } from "../support/reading.ts";
import { shells } from "./support/decorations.ts";
import { randomCommands } from "./support/random-commands.ts";
import { bytesOf, startShell, textOf, UNTIL_GO } from "./support/shells.ts";

/** The benchmark runs a thousand. */
const RANDOM_COMMANDS = 60;

/** Incomplete commands; on a busy machine one in a hundred used not to be discarded. */
const UNFINISHED_COMMANDS = 30;

const RUN = "run with exact output, exit code, offsets in a living shell";

describe.each(shells)("%s", (name) => {
	test.each([false, true])("a command's output and exit code are exact (decorated: %s)", async (isDecorated) => {
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

	test("no command expands to a history entry, not even the first of a fresh shell; a typed line may", async () => {
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
		// fish has no history expansion.
		const typed = name === "fish" ? "echo SECRET-FROM-HISTORY again" : "echo !?SECRET?:1 again";
		await write(shell.session, `${typed}\r`);
		const output = await eventually("the end of what was typed", async () => {
			const { seq, from, to = null } = (await shell.session.commands()).commands.at(-1) ?? {};
			return seq === 3 && from !== undefined && to !== null && { from, to };
		});
		expect(await textOf(shell.session, output)).toBe("SECRET-FROM-HISTORY again\n");
		expect(await shell.run(command)).toMatchObject(ended);
	});

	test("the directory after a command is reported, with unusual names too", async () => {
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
		// For a typed command, only its number shows that a mark is not a replay.
		await write(shell.session, "cat replayed; sh -c 'exit 4'\r");
		const commands = await eventually("the end of what was typed", async () => {
			const { commands } = await shell.session.commands();
			return commands.length > 2 && commands.at(-1)?.to !== null && commands;
		});
		expect(commands.map(({ exitCode }) => exitCode)).toEqual([1, 3, 4]);
		expect(await shell.run("echo on")).toMatchObject({ status: "ended", exitCode: 0, text: "on\n" });
	});

	test("a command that waits for input is reported, and can be waited for again", async () => {
		const shell = await startShell(name);
		const waiting = await shell.run("sh -c 'printf \"name? \"; read name; echo hello $name; exit 5'");
		expect(waiting).toMatchObject({ status: "waiting", exitCode: null, front: { state: "waiting", kind: "line" } });
		expect(await shell.run("echo no")).toMatchObject({ status: "busy", seq: null });
		await write(shell.session, "you\r");
		const ended = await shell.session.run({ command: waiting.seq ?? 0, timeoutMs: 5_000, options: {} });
		expect(ended).toMatchObject({ status: "ended", exitCode: 5, seq: waiting.seq });
	});

	test("a command that takes longer than the timeout is reported as running, and can be waited for again", async () => {
		const shell = await startShell(name);
		await shell.run("true");
		const request = { command: `${UNTIL_GO}; echo late`, options: { origin: { stream: "s", position: 0 } } };
		// Busy while the shell is not at its prompt yet; without a number before it has begun.
		const first = await eventually("that it has begun", async () => {
			const answer = await shell.session.run({ ...request, timeoutMs: 100 });
			return answer.status !== "busy" && answer.seq !== null && answer;
		});
		expect(first).toMatchObject({ status: "running", exitCode: null });
		writeFileSync(join(shell.home, "go"), "");
		const again = await shell.session.run({ ...request, timeoutMs: 5_000 });
		expect(again).toMatchObject({ status: "ended", exitCode: 0, seq: first.seq });
		expect((await shell.session.commands()).commands.filter(({ command }) => command === request.command)).toHaveLength(
			1,
		);
	});

	test("of two concurrent calls of the same command, one sends it, and both get its end", async () => {
		const shell = await startShell(name);
		const request = { command: "echo x >>count", timeoutMs: 5_000, options: { origin: { stream: "s", position: 0 } } };
		const both = () => Promise.all([shell.session.run(request), shell.session.run(request)]);
		const first = await both();
		for (const answer of first) expect(answer).toMatchObject({ status: "ended", exitCode: 0, seq: first[0].seq });
		expect(readFileSync(join(shell.home, "count"), "utf8")).toBe("x\n");
	});

	test("two commands sent concurrently each run separately or not at all", async () => {
		const shell = await startShell(name);
		const texts = ["echo one", "echo two"];
		const answers = await Promise.all(texts.map((command) => shell.run(command)));
		expect(answers.map(({ status }) => status)).toEqual(["ended", "busy"]);
		expect(answers[0]?.text).toBe("one\n");
	});

	test("a rejected command is reported, an incomplete one is discarded, and the shell is ready again", async () => {
		const shell = await startShell(name, { isDecorated: true });
		const rejected = await shell.run(name === "fish" ? "echo (" : "echo )");
		expect(["rejected", "incomplete"]).toContain(rejected.status);
		const senseless = await shell.run(name === "fish" ? "end" : "done");
		expect(senseless.status).toBe("rejected");
		expect(senseless.text).toMatch(/done|end/);
		expect(senseless.text).not.toMatch(/[0-9a-f]{24}|\.hooks/);
		// Only the message: the line editor's drawing is not part of it.
		if (name !== "fish") expect(senseless.text.trim()).toMatch(/^\S*(?:bash|zsh): .*`done'$/);
		expect(await shell.run(name === "fish" ? "if true" : "if true; then")).toMatchObject({
			status: "incomplete",
			text: "",
		});
		expect(await shell.run("echo fine")).toMatchObject({ status: "ended", text: "fine\n", exitCode: 0 });
	});

	test("incomplete commands are discarded time after time", async () => {
		const shell = await startShell(name);
		for (let turn = 0; turn < UNFINISHED_COMMANDS; turn++)
			expect(await shell.run(name === "fish" ? "if true" : "if true; then")).toMatchObject({ status: "incomplete" });
		expect(await shell.run("echo fine")).toMatchObject({ status: "ended", text: "fine\n", exitCode: 0 });
	});

	test("nothing is run while a user types", async () => {
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

	test("a command that ends the shell reports the shell's exit code", async () => {
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

test.each(["bash", "zsh"] as const)("%s reports its commands although its own output is redirected", async (name) => {
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

test.each(["bash", "zsh"] as const)("a login shell of %s reads the files of a login shell", async (name) => {
	const profile = name === "bash" ? ".bash_profile" : ".zprofile";
	const shell = await startShell(name, { files: { [profile]: "OWN=login" }, arguments: ["-l"] });
	expect((await shell.run("echo $OWN")).text).toBe("login\n");
});

test.each(["bash", "zsh"] as const)(
	"a command's output in %s ends with the command, also while the shell is still making its prompt",
	async (name) => {
		const slow = "if [ -e ran ]; then echo noise; until [ -e go ]; do sleep 0.01; done; fi";
		const files = { bash: { ".bashrc": `PROMPT_COMMAND='${slow}'` }, zsh: { ".zshrc": `precmd() { ${slow} }` } }[name];
		const shell = await startShell(name, { files });
		const command = "touch ran; echo one";
		const ask = (timeoutMs: number) =>
			shell.session.run({ command, timeoutMs, options: { origin: { stream: "s", position: 0 } } });
		const first = await ask(500);
		await outputUntil(shell.session, /noise/);
		const second = await ask(100);
		writeFileSync(join(shell.home, "go"), "");
		const last = await ask(10_000);
		expect([first, second, last].map(({ status }) => status)).toEqual(["running", "running", "ended"]);
		for (const { output } of [first, second, last]) expect(await textOf(shell.session, output)).toBe("one\n");
	},
);

test.each(["starts", "has run a command"])(
	"fish takes a command although a signal interrupted its prompt after it %s",
	async (moment) => {
		const interrupt = "if test -e interrupt; rm interrupt; kill -INT $fish_pid; while true; end; end";
		const config = `function fish_prompt; ${interrupt}; echo '> '; end`;
		const shell = await startShell("fish", {
			files: { ".config/fish/config.fish": config, ...(moment === "starts" ? { interrupt: "" } : {}) },
		});
		if (moment !== "starts") expect(await shell.run("touch interrupt")).toMatchObject({ status: "ended" });
		const answer = await shell.run("echo one; sh -c 'exit 3'");
		expect(answer).toMatchObject({ status: "ended", exact: true, exitCode: 3, text: "one\n" });
		expect(await shell.run("echo two")).toMatchObject({ status: "ended", exact: true, text: "two\n" });
	},
);

test("zsh keeps the user's own ZDOTDIR", async () => {
	const shell = await startShell("zsh", {
		files: { ".zshenv": "export ZDOTDIR=$HOME/dots", "dots/.zshrc": "OWN=dots" },
	});
	expect((await shell.run("echo $OWN $ZDOTDIR:t")).text).toBe("dots dots\n");
});

test("a nested shell runs until it ends, and its prompts are not the outer shell's", async () => {
	const shell = await startShell("bash", { files: { ".bashrc": "export PS1='$ '" } });
	const inner = await shell.run("bash --norc");
	expect(inner).toMatchObject({ status: "waiting" });
	expect(await shell.run("echo typed | tr t T")).toMatchObject({ status: "ended", exact: false, exitCode: null });
	await write(shell.session, "exit 4\r");
	const outer = await shell.session.run({ command: inner.seq ?? 0, timeoutMs: 5_000, options: {} });
	expect(outer).toMatchObject({ status: "ended", exitCode: 4 });
});

test("a repeat with another command than the first is refused", async () => {
	const shell = await startShell("bash");
	const options = { origin: { stream: "s", position: 0 } };
	expect(await shell.session.run({ command: "echo one", timeoutMs: 5_000, options })).toMatchObject({
		status: "ended",
	});
	await expect(shell.session.run({ command: "echo two", timeoutMs: 5_000, options })).rejects.toMatchObject({
		code: "invalid_argument",
	});
});

/** The time a shell may take for its start-up files. */
const HOOKS_MS = 3_000;

describe("bash after `exec 2>/dev/null`", () => {
	test("bash after `exec 2>/dev/null` counts as a shell without hooks, because its marks are missing", async () => {
		let skippedMs = 0;
		const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + skippedMs };
		const shell = await startShell("bash", { clock });
		expect(await shell.run("exec 2>/dev/null")).toMatchObject({ status: "ended" });
		skippedMs = HOOKS_MS;
		for (const name of ["one", "two"])
			expect(await shell.run(`echo x >${name}`)).toMatchObject({ status: "ended", exact: false, exitCode: null });
		expect(readFileSync(join(shell.home, "two"), "utf8")).toBe("x\n");
		// Busy until the shell is seen at its prompt.
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
	// Without job control, its background process is in the foreground group as well.
	["bash", "set +m; while :; do :; done & read -e line; kill $!; echo got $line"],
	["fish", "read line; echo got $line"],
] as const)("a command with the line editor of %s waits for input", async (name, command) => {
	const shell = await startShell(name);
	const asked = await shell.run(command);
	expect(asked).toMatchObject({ status: "waiting", exact: true });
	await write(shell.session, "it\r");
	const ended = await shell.session.run({ command: asked.seq ?? 0, timeoutMs: 5_000, options: {} });
	expect(ended).toMatchObject({ status: "ended", exitCode: 0 });
	expect(await shell.run("echo fine")).toMatchObject({ status: "ended", text: "fine\n" });
});
