/** Debian's Python with the Hawser client in its path. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { type Echo, type Task, TIMES } from "../system/torture/support/sdk-torture.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const echoProgram = fileURLToPath(new URL("../system/torture/support/echo.py", import.meta.url));
/** Another Python earlier in the path would lack Debian's packages. */
const python = existsSync("/usr/bin/python3") ? "/usr/bin/python3" : "python3";

export type PythonOptions = { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string };

/** Starts it with warnings as errors: a socket left open is one, too. */
export function startPython(args: readonly string[], { env = {}, cwd = root }: PythonOptions = {}): ChildProcess {
	return spawn(python, ["-W", "error", ...args], {
		cwd,
		env: { PATH: process.env.PATH, HOME: "/tmp", PYTHONPATH: `${root}clients/python`, ...env },
		stdio: ["pipe", "pipe", "pipe"],
	});
}

/** The printed output. Throws with stderr if it fails or prints errors. */
export async function runPython(args: readonly string[], options: PythonOptions = {}): Promise<string> {
	return outputOf(startPython(args, options));
}

export type Outcome = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

export async function outcomeOf(child: ChildProcess): Promise<Outcome> {
	if (!child.stdout || !child.stderr) throw new Error("no pipes");
	const ended = once(child, "close");
	const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
	return { code: child.exitCode, stdout, stderr };
}

async function outputOf(child: ChildProcess): Promise<string> {
	const { code, stdout, stderr } = await outcomeOf(child);
	if (code === 0 && stderr === "") return stdout;
	throw new Error(`python ended with ${code ?? child.signalCode}:\n${stderr}${stdout}`);
}

/** The Python client under torture, in its own process. */
export class PythonEcho implements Echo {
	connections = 0;
	sent = 0;
	received = 0;
	resizes = 0;
	readonly #child: ChildProcess;

	constructor(task: Task) {
		const times = {
			connect: TIMES.connectMs / 1000,
			ping: TIMES.pingMs / 1000,
			dead: TIMES.deadMs / 1000,
			first_retry: TIMES.firstRetryMs / 1000,
			last_retry: TIMES.lastRetryMs / 1000,
		};
		this.#child = startPython([echoProgram, JSON.stringify({ ...task, times })]);
	}

	async run(): Promise<void> {
		Object.assign(this, JSON.parse(await outputOf(this.#child)));
	}

	stop(): void {
		this.#child.stdin?.end("stop\n");
	}

	async close(): Promise<void> {
		if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
		const ended = once(this.#child, "exit");
		this.#child.kill("SIGKILL");
		await ended;
	}
}
