/**
 * The script of one run: what the user wrote, to the letter, and after it the state that the next run starts from.
 *
 * The state goes to a file that is opened only then, so that nothing a program prints can be taken for it, and
 * nothing of it is printed. A text that ends the shell itself never gets there: then the state stays as it was.
 */

import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A value longer than this is not kept. */
const MOST_VALUE_BYTES = 8 * 1024;
/** More than any environment that a program could be started with; a larger state is not taken over. */
const MOST_STATE_BYTES = 16 * 1024 * 1024;
/** What belongs to one shell only. */
const shellOwn = new Set(["PS1", "PS2", "PS3", "PS4", "PROMPT_COMMAND", "SHLVL", "_"]);

type ShellState = { readonly cwd: string; readonly env: Readonly<Record<string, string>> };

/** A directory that only we can read, for one run. */
export class RunDirectory {
	readonly #path: string;

	static async create(): Promise<RunDirectory> {
		// Somebody may have cleaned up.
		await mkdir(tmpdir(), { recursive: true });
		const directory = new RunDirectory(await mkdtemp(join(tmpdir(), "hawser-run-")));
		// There before the shell, whose umask might keep us from reading it.
		await writeFile(directory.#state, "", { mode: 0o600 });
		return directory;
	}

	private constructor(path: string) {
		this.#path = path;
	}

	/** Writes the script; its path. */
	async write(command: string): Promise<string> {
		const path = join(this.#path, "script.sh");
		await writeFile(path, `${command}\n\n${epilogue(this.#state)}`, { mode: 0o600 });
		return path;
	}

	/** What the shell left; undefined if it did not get to the end. */
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
 * One group, which is read as a whole before any of it runs, silent whatever is traced. The working directory
 * and a line break; then names and values; an empty name at the end shows that nothing is missing.
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
	// The empty name, and what is after its end.
	if (!directory || fields.pop() !== "" || fields.pop() !== "") return undefined;
	const env: Record<string, string> = {};
	for (let i = 0; i + 1 < fields.length; i += 2) {
		const [name = "", value = ""] = fields.slice(i, i + 2);
		if (isKept(name, value)) env[name] = value;
	}
	return { cwd: directory.replace(/\n$/, ""), env };
}

/** What of an environment a session has. */
export function keptOf(env: Readonly<Record<string, string>>): Record<string, string> {
	return Object.fromEntries(Object.entries(env).filter(([name]) => isName(name)));
}

function isKept(name: string, value: string): boolean {
	return isName(name) && !shellOwn.has(name) && Buffer.byteLength(value) <= MOST_VALUE_BYTES;
}

function isName(name: string): boolean {
	return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
}
