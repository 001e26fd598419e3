// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the shells expand these.
/** Shells with hooks compared with shells without: scripts behave the same in both, on the same terminal. */

import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { withHooks } from "../../src/backends/shell-hooks.ts";
import { spawn } from "../../src/backends/spawn.ts";
import { systemClock } from "../../src/backends/system-clock.ts";
import { LocalSession } from "../../src/core/session/local-session.ts";
import { eventually, write } from "../support/reading.ts";
import { startOf } from "../support/starts.ts";
import { temporaryDirectory } from "../support/temporary.ts";
import { KEYS, type Script, scripts } from "./support/differential-scripts.ts";
import { bytesOf } from "./support/shells.ts";

/** `HAWSER_SCRIPTS=300 npx vitest run test/shell/differential.test.ts` runs all; they take some minutes. */
const SCRIPTS = Number(process.env.HAWSER_SCRIPTS ?? 40);
const FIRST = Number(process.env.HAWSER_FIRST_SCRIPT ?? 0);
const SEED = Number(process.env.SEED ?? 28);

/** Lines that print a shell's state, run last. Each writes to a new file. */
const QUESTIONS = {
	bash: [
		'builtin echo "$?|$_|${PIPESTATUS[*]}" >.last',
		"set -o >.options; shopt >.shopt",
		"trap -p >.traps; builtin history >.history",
		"declare -p >.variables; declare -F >.functions",
		"bind -p >.keys",
	],
	zsh: [
		'builtin echo "$?|$_|$pipestatus" >.last',
		"setopt >.options",
		"builtin trap >.traps; builtin fc -l -50 >.history",
		"builtin typeset >.variables; builtin typeset +f >.functions",
	],
	fish: [
		"echo $status $pipestatus >.last",
		"set >.variables; functions -n >.functions",
		"builtin history >.history",
		"functions -H -v >.handlers",
	],
} as const;

/** Lines of these files that vary between starts, or belong to the hooks. */
const OWN =
	/__hawser|\b(?:PROMPT_COMMAND|PROMPT_EOL_MARK|PS0|PS1|PS2|PROMPT|PROMPT2|prompt|psvar|BASHPID|BASH_\w+|RANDOM|SRANDOM|SECONDS|EPOCH\w+|TTY\w*|LINENO|PPID|precmd_functions|preexec_functions|last_pid|OLD|COMP_\w+|HAWSER\w*|fish_pid|CMD_DURATION|fish_killring|history|_)\b|^(?:_|'?!'?|\$)=|^#\d+$|'\$'=|builtin (?:local -|set \+aekux)|fish_prompt|7707/;

type Outcome = {
	readonly output: string;
	readonly files: Readonly<Record<string, readonly string[]>>;
	readonly code: number | null | undefined;
};

async function play({ shell, fileName, file, lines }: Script & { fileName: string }, isHooked: boolean, home: string) {
	rmSync(home, { recursive: true, force: true });
	mkdirSync(dirname(join(home, fileName)), { recursive: true });
	writeFileSync(join(home, fileName), file);
	const start = startOf([shell], { id: "differential", cwd: home, shellHooks: true, answersQueries: true });
	const env = { ...start.command.env, HOME: home, TERM: "xterm-256color", HISTFILE: join(home, ".saved") };
	const asked = { ...start, command: { ...start.command, env } };
	const hooked = isHooked ? await withHooks(asked.command, `${home}.hooks`) : undefined;
	const session = await LocalSession.start(
		{ ...asked, command: hooked?.command ?? asked.command },
		{
			spawn,
			clock: systemClock,
			shellHooks: hooked?.hooks,
		},
	);
	onTestFinished(() => session.kill({ graceMs: 0 }));
	const isOver = async () => (await session.info()).exit !== null;
	const ready = () =>
		eventually("that the shell reads", async () => {
			const { state, kind, quietMs } = await session.inspect();
			return state === "ended" || ((state === "prompt" || state === "waiting") && kind !== "reply" && quietMs >= 2);
		});
	await ready();
	let text = "";
	for (const [index, line] of [...lines, ...QUESTIONS[shell]].entries()) {
		if (index === lines.length) text = await outputOf(session);
		await write(session, KEYS.has(line) && line !== "" ? line : `${line}\r`).catch(() => {});
		await ready();
		if (line.includes("\u001b[A")) await write(session, "\r").catch(() => {});
		await ready();
	}
	const { offset } = await session.end();
	await write(session, "\u0003").catch(() => {});
	// The shell discards input typed before it handled the interrupt. fish shows nothing for it on an empty line.
	const isShown = async () => shell === "fish" || (await session.end()).offset > offset || (await isOver());
	await eventually("that ^C is handled", isShown);
	await ready();
	await write(session, "exit 9\r").catch(() => {});
	await ready();
	await write(session, "exit 9\r").catch(() => {});
	await ready();
	const outcome: Outcome = {
		output: text,
		files: Object.fromEntries(
			readdirSync(home)
				.filter((name) => statSync(join(home, name)).isFile() && name !== fileName)
				.map((name) => [name, linesOf(join(home, name))]),
		),
		code: (await isOver()) ? (await session.info()).exit?.code : undefined,
	};
	await session.kill({ graceMs: 0 });
	return outcome;
}

/**
 * Without our marks and process ids, and with traces of concurrent programs sorted. Output drawn by fish varies, so it
 * is dropped.
 */
async function outputOf(session: LocalSession): Promise<string> {
	if (session.spec.argv[0] === "fish") return "";
	const { offset } = await session.end();
	const bytes = await bytesOf(session, { from: 0, to: offset });
	return Buffer.from(bytes)
		.toString()
		.replaceAll(/\u001b\]133;O;[^\u001b]*\u001b\\\r|\u001b\](?:133|633|7);[^\u001b]*\u001b\\/g, "")
		.replaceAll(/(\[\d+\] [+-]? *)\d+/g, "$1PID")
		.replaceAll(/(?:\+ [^\n]*\n)+/g, (traces) =>
			traces
				.split(/(?<=\n)/)
				.sort()
				.join(""),
		);
}

function linesOf(path: string): readonly string[] {
	return readFileSync(path, "utf8")
		.split("\n")
		.filter((line) => !OWN.test(line));
}

/** The differences between both outcomes, by name. */
function differencesOf(without: Outcome, hooked: Outcome): Record<string, unknown> {
	const names = new Set([...Object.keys(without.files), ...Object.keys(hooked.files)]);
	const found: Record<string, unknown> = {};
	for (const name of names) {
		const [before = ["(no file)"], after = ["(no file)"]] = [without.files[name], hooked.files[name]];
		const missing = before.filter((line) => !after.includes(line));
		const added = after.filter((line) => !before.includes(line));
		if (missing.length + added.length > 0) found[name] = { missing, added };
	}
	if (without.output !== hooked.output) found.output = { without: without.output, hooked: hooked.output };
	if (without.code !== hooked.code) found.code = { without: without.code, hooked: hooked.code };
	return found;
}

test(`${SCRIPTS} scripts see and do the same with hooks as without`, async () => {
	const home = join(await temporaryDirectory(), "home");
	const different: unknown[] = [];
	for (const [index, script] of scripts(FIRST + SCRIPTS, SEED)
		.slice(FIRST)
		.entries()) {
		const without = await play(script, false, home);
		const hooked = await play(script, true, home);
		const found = differencesOf(without, hooked);
		if (Object.keys(found).length > 0) different.push({ index: FIRST + index, ...script, found });
	}
	expect(different).toEqual([]);
}, 900_000);
