/**
 * The script of one run: the user's text unchanged, followed by code that saves the state for the next run.
 *
 * The state goes to a file that is opened only then, so that output can't be mistaken for it and none of it is printed.
 * A text that exits the shell itself skips this code, and the session's state stays as it was.
 */

import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SessionError } from "../../../../core/errors.ts";

/** Longer values are not kept. */
const MOST_VALUE_BYTES = 8 * 1024;
/** A larger state is not adopted. No program could be started with so large an environment. */
const MOST_STATE_BYTES = 16 * 1024 * 1024;
/** Variables that belong to a single shell. */
const shellOwn = new Set(["PS1", "PS2", "PS3", "PS4", "PROMPT_COMMAND", "SHLVL", "_"]);

type ShellState = { readonly cwd: string; readonly env: Readonly<Record<string, string>> };

/** A private directory for one run. */
export class RunDirectory {
	readonly #path: string;

	static async create(): Promise<RunDirectory> {
		// The directory for temporary files may have been removed.
		await mkdir(tmpdir(), { recursive: true });
		const directory = new RunDirectory(await mkdtemp(join(tmpdir(), "hawser-run-")));
		// Created before the shell runs, because the shell's umask could make it unreadable for us.
		await writeFile(directory.#state, "", { mode: 0o600 });
		return directory;
	}

	private constructor(path: string) {
		this.#path = path;
	}

	/** Path of the script, which `write` creates. */
	get script(): string {
		return join(this.#path, "script.sh");
	}

	/** Rejects with `conflict` if the file exists, which means that another program of this account created it. */
	async write(command: string): Promise<void> {
		try {
			await writeFile(this.script, `${command}\n\n${epilogue(this.#state)}`, { mode: 0o600, flag: "wx" });
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
			throw new SessionError("conflict", `${this.script} already exists; nothing was run`, { cause: error });
		}
	}

	/** The state that the shell saved; undefined if it did not get that far. */
	async read(): Promise<ShellState | undefined> {
		if ((await stat(this.#state)).size > MOST_STATE_BYTES) return undefined;
		return parseState(await readFile(this.#state));
	}

	async remove(): Promise<void> {
		await rm(this.#path, { recursive: true, force: true });
	}

	get #state(): string {
		return join(this.#path, "state");
	}
}

/**
 * One group, so that bash parses all of it before any of it runs; its output is discarded even under tracing. Writes
 * the working directory and a line break, then names and values, then an empty name as the end mark.
 */
function epilogue(file: string): string {
	return `{
	hawser_status=$?
	builtin set +eux
	builtin trap - DEBUG ERR RETURN
	{
		builtin pwd
		builtin printf '\\0'
		builtin compgen -e | while IFS= builtin read -r hawser_name; do
			[[ \${!hawser_name+x} ]] && builtin printf '%s\\0%s\\0' "$hawser_name" "\${!hawser_name}"
		done
		builtin printf '\\0'
	} >| ${quote(file)}
} >/dev/null 2>&1
builtin exit "$hawser_status"
`;
}

function quote(text: string): string {
	return `'${text.replaceAll("'", `'\\''`)}'`;
}

function parseState(bytes: Buffer): ShellState | undefined {
	const [directory, ...fields] = bytes.toString("utf8").split("\0");
	// The empty name, and the empty field after its terminator.
	if (!directory || fields.pop() !== "" || fields.pop() !== "") return undefined;
	const env: Record<string, string> = {};
	for (let i = 0; i + 1 < fields.length; i += 2) {
		const [name = "", value = ""] = fields.slice(i, i + 2);
		if (isKept(name, value)) env[name] = value;
	}
	return { cwd: directory.replace(/\n$/, ""), env };
}

/** The part of an environment that a session keeps. */
export function keptOf(env: Readonly<Record<string, string>>): Record<string, string> {
	return Object.fromEntries(Object.entries(env).filter(([name]) => isName(name)));
}

function isKept(name: string, value: string): boolean {
	return isName(name) && !shellOwn.has(name) && Buffer.byteLength(value) <= MOST_VALUE_BYTES;
}

function isName(name: string): boolean {
	return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
}
