/**
 * Starts bash, zsh and fish so that they mark their prompts and commands and fetch commands from a file, without
 * touching the user's files: each is told to read a file of ours, which reads the user's first.
 */

import { randomBytes } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "../core/process.ts";
import type { SessionStart } from "../core/session.ts";
import type { HookedStart, ShellHooks } from "../core/shell-runner.ts";

/** Of a key, and of a word: as many as nobody guesses, for text that is printed must not pass for the shell's own. */
const KEY_BYTES = 12;
/** Where a shell fetches its next command, in the directory of its hooks. */
const COMMAND_FILE = "command";

type Shell = {
	/** Arguments with which it is interactive and reads its usual files; any other is not ours to judge. */
	readonly plainArguments: ReadonlySet<string>;
	/** The file that it is made to read, in the directory of its hooks. */
	readonly init: string;
	/** What it reads besides. */
	readonly files?: Readonly<Record<string, string>>;
	readonly command: (command: Command, directory: string) => Command;
};

const LOGIN_ARGUMENTS: ReadonlySet<string> = new Set(["-l", "--login", "-il", "-li"]);
const PLAIN_ARGUMENTS: ReadonlySet<string> = new Set(["-i", ...LOGIN_ARGUMENTS]);

const SHELLS: ReadonlyMap<string, Shell> = new Map<string, Shell>([
	[
		"bash",
		{
			plainArguments: PLAIN_ARGUMENTS,
			init: "init.bash",
			// As a login shell it would not read the file, which does what a login shell does instead.
			command: (command, directory) => ({
				...command,
				argv: [program(command), "--init-file", join(directory, "init.bash"), "-i"],
			}),
		},
	],
	[
		"zsh",
		{
			plainArguments: PLAIN_ARGUMENTS,
			init: ".zshenv",
			files: {
				".zprofile": `__hawser_out\n${sourced(".zprofile")}\n__hawser_in\n`,
				".zshrc": `__hawser_out\n${sourced(".zshrc")}\n__hawser_install\n`,
			},
			command: (command, directory) => {
				const { ZDOTDIR: own, ...env } = command.env;
				return {
					...command,
					env: { ...env, ZDOTDIR: directory, ...(own === undefined ? {} : { HAWSER_ZDOTDIR: own }) },
				};
			},
		},
	],
	[
		"fish",
		{
			plainArguments: new Set([...PLAIN_ARGUMENTS, "--interactive"]),
			init: "init.fish",
			command: (command, directory) => {
				const [, ...rest] = command.argv;
				const source = `source ${quoted(join(directory, "init.fish"))}`;
				return { ...command, argv: [program(command), "--init-command", source, ...rest] };
			},
		},
	],
]);

/** Undefined for whatever is no interactive shell that we know, or could not read our files. The directory is made. */
export async function withHooks(start: SessionStart, directory: string): Promise<HookedStart | undefined> {
	const { spec, command } = start;
	const name = basename(program(command));
	const shell = SHELLS.get(name);
	if (!shell || spec.shellHooks !== true || spec.mode !== "pty" || !isOurs(command)) return undefined;
	const [, ...given] = command.argv;
	if (!given.every((argument) => shell.plainArguments.has(argument))) return undefined;
	const key = newKey();
	const file = join(directory, COMMAND_FILE);
	const script = await readFile(fileURLToPath(new URL(`../../shell/hooks.${name}`, import.meta.url)), "utf8");
	const login = given.some((argument) => LOGIN_ARGUMENTS.has(argument)) ? "1" : "";
	const files = {
		...shell.files,
		[shell.init]: assignments(name, { key, file, directory, login }) + script,
	};
	await mkdir(directory, { recursive: true, mode: 0o700 });
	for (const [path, text] of Object.entries(files)) await writePrivately(join(directory, path), text);
	return {
		start: { spec, command: shell.command(command, directory) },
		hooks: new HookFiles(key, directory, Object.keys(files)),
	};
}

class HookFiles implements ShellHooks {
	readonly key: string;
	readonly #directory: string;
	readonly #names: readonly string[];
	/** What is removed must be gone before the next is put there. */
	#cleared: Promise<unknown> = Promise.resolve();

	constructor(key: string, directory: string, names: readonly string[]) {
		this.key = key;
		this.#directory = directory;
		this.#names = [...names, COMMAND_FILE];
	}

	async put(command: string): Promise<string> {
		await this.#cleared.catch(() => {});
		const word = newKey();
		await writePrivately(join(this.#directory, COMMAND_FILE), `${word}\n${command}`);
		return word;
	}

	/** The key goes, too: it is in the shell's memory now. */
	async clear(): Promise<void> {
		this.#cleared = Promise.all(this.#names.map((name) => rm(join(this.#directory, name), { force: true })));
		await this.#cleared;
	}

	async end(): Promise<void> {
		await rm(this.#directory, { recursive: true, force: true });
	}
}

function newKey(): string {
	return randomBytes(KEY_BYTES).toString("hex");
}

/** Another user could not read our files, and one that is called as a login shell would not. */
function isOurs({ uid, arg0 }: Command): boolean {
	return (uid === undefined || uid === process.getuid?.()) && (arg0 === undefined || !arg0.startsWith("-"));
}

function program({ argv }: Command): string {
	return argv[0] ?? "";
}

function assignments(shell: string, values: Readonly<Record<string, string>>): string {
	return Object.entries(values)
		.map(([name, value]) =>
			shell === "fish" ? `set -g __hawser_${name} ${quoted(value)}\n` : `__hawser_${name}=${quoted(value)}\n`,
		)
		.join("");
}

/** Not in a function, where what the user's file declares would be lost. */
function sourced(file: string): string {
	const path = `\${ZDOTDIR-$HOME}/${file}`;
	return `[[ -r ${path} ]] && source ${path}`;
}

/** For all three of them. */
function quoted(text: string): string {
	return `'${text.replaceAll(/['\\]/g, (character) => `'\\${character}'`)}'`;
}

async function writePrivately(path: string, text: string): Promise<void> {
	await writeFile(path, text, { mode: 0o600 });
}
