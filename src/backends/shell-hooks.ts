/**
 * Starts bash, zsh and fish with hooks that mark prompts and commands and fetch commands from a file. The user's files
 * are not changed: the shell reads a file of ours, which reads the user's first.
 */

import { randomBytes } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "../core/process/process.ts";
import type { HookedCommand, ShellHooks } from "../core/shell/shell-runner.ts";
import { makePrivateDirectory } from "../disk/private-directory.ts";

/** Length of keys and words. They must be unguessable, so that printed text can't imitate the shell's marks. */
const KEY_BYTES = 12;
/** The file from which a shell fetches its next command, in its hooks directory. */
const COMMAND_FILE = "command";

type Shell = {
	/** Arguments of an interactive shell that reads its usual files. A shell with other arguments gets no hooks. */
	readonly plainArguments: ReadonlySet<string>;
	/** Arguments that are followed by a startup file. */
	readonly fileArguments?: ReadonlySet<string>;
	/** The startup file with the hooks, in the hooks directory. */
	readonly init: string;
	/** Further startup files. */
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
			fileArguments: new Set(["--rcfile", "--init-file"]),
			init: "init.bash",
			// Not as a login shell, which would ignore the file. The file does what a login shell does.
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
				".zprofile": `__hawser_out\n${sourced(".zprofile")}\n{ __hawser_in } >/dev/null 2>&1\n`,
				".zshrc": `__hawser_out\n${sourced(".zshrc")}\n{ __hawser_install } >/dev/null 2>&1\n`,
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

/**
 * Adds hooks to a command and creates the directory. Undefined if it does not start a supported interactive shell, or
 * one that could not read our files.
 */
export async function withHooks(command: Command, directory: string): Promise<HookedCommand | undefined> {
	const name = basename(program(command));
	const shell = SHELLS.get(name);
	if (!shell || command.mode !== "pty" || !canReadHooks(command)) return undefined;
	const given = parsedArguments(command, shell);
	if (!given) return undefined;
	const key = newKey();
	const file = join(directory, COMMAND_FILE);
	const script = await readFile(fileURLToPath(new URL(`../../shell/hooks.${name}`, import.meta.url)), "utf8");
	const files = {
		...shell.files,
		[shell.init]: assignments(name, { key, file, directory, ...given }) + script,
	};
	await makePrivateDirectory(directory);
	for (const [path, text] of Object.entries(files)) await writePrivately(join(directory, path), text);
	return {
		command: shell.command(command, directory),
		hooks: new HookFiles(key, directory, Object.keys(files)),
	};
}

class HookFiles implements ShellHooks {
	readonly key: string;
	readonly #directory: string;
	readonly #names: readonly string[];
	/** Removal must be complete before the next command is put. */
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

	/** Also removes the key, which is in the shell's memory by now. */
	async clear(): Promise<void> {
		this.#cleared = Promise.all(this.#names.map((name) => rm(join(this.#directory, name), { force: true })));
		await this.#cleared;
	}

	async end(): Promise<void> {
		await rm(this.#directory, { recursive: true, force: true });
	}
}

/** Undefined if there are arguments that the hooks can't emulate. */
function parsedArguments(
	{ argv }: Command,
	shell: Shell,
): { readonly login: string; readonly rcfile: string } | undefined {
	let login = "";
	let rcfile = "";
	for (let index = 1; index < argv.length; index++) {
		const argument = argv[index] ?? "";
		if (shell.fileArguments?.has(argument)) {
			rcfile = argv[++index] ?? "";
			if (rcfile === "") return undefined;
		} else if (!shell.plainArguments.has(argument)) return undefined;
		if (LOGIN_ARGUMENTS.has(argument)) login = "1";
	}
	return { login, rcfile };
}

function newKey(): string {
	return randomBytes(KEY_BYTES).toString("hex");
}

/** Another user could not read our files, and a shell called as a login shell would ignore them. */
function canReadHooks({ uid, arg0 }: Command): boolean {
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

/** Sources a file. Not in a function, because declarations in the user's file would become local. */
function sourced(file: string): string {
	const path = `\${ZDOTDIR-$HOME}/${file}`;
	return `[[ -r ${path} ]] && source ${path}`;
}

/** Quotes for all three shells. */
function quoted(text: string): string {
	return `'${text.replaceAll(/['\\]/g, (character) => `'\\${character}'`)}'`;
}

async function writePrivately(path: string, text: string): Promise<void> {
	await writeFile(path, text, { mode: 0o600 });
}
