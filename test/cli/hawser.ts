/** The `hawser` command as its users have it: a process of its own, against a server of its own. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

export const main: string = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

export type Result = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** A state directory, the server on it, and commands that find that server by it. */
export class Installation {
	readonly stateDir: string;
	#server: ChildProcess | undefined;
	serverRemarks = "";

	private constructor(stateDir: string) {
		this.stateDir = stateDir;
	}

	static async create(): Promise<Installation> {
		const installation = new Installation(await mkdtemp(join(tmpdir(), "hawser-cli-")));
		await installation.startServer();
		return installation;
	}

	/** Starts a command and leaves it running. */
	start(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
		return spawn(process.execPath, [main, ...args], {
			cwd: "/tmp",
			env: { PATH: process.env.PATH, HOME: "/tmp", HAWSER_STATE_DIR: this.stateDir, ...env },
			stdio: ["pipe", "pipe", "pipe"],
		});
	}

	/** Runs a command to its end. */
	async run(args: readonly string[], options: { input?: string; env?: NodeJS.ProcessEnv } = {}): Promise<Result> {
		const child = this.start(args, options.env);
		child.stdin?.end(options.input ?? "");
		return result(child);
	}

	/** A script in a session of its own, on a terminal; the session's id. */
	async detached(script: string, ...options: string[]): Promise<string> {
		const { stdout } = await this.run(["run", "--detach", ...options, "--", "bash", "--norc", "-c", script]);
		return stdout.trim();
	}

	async startServer(options: readonly string[] = []): Promise<string> {
		const server = this.start(["serve", "--port", "0", "--spares", "0", ...options]);
		this.#server = server;
		server.stderr?.on("data", (chunk: Buffer) => {
			this.serverRemarks += chunk.toString();
		});
		if (!server.stdout) throw new Error("no stdout");
		for await (const line of createInterface(server.stdout)) return line;
		throw new Error(`the server did not start: ${this.serverRemarks}`);
	}

	/** Without waiting for what comes of it. */
	signalServer(signal: NodeJS.Signals): void {
		this.#server?.kill(signal);
	}

	async stopServer(signal: NodeJS.Signals): Promise<number | null> {
		const server = this.#server;
		if (!server || server.exitCode !== null || server.signalCode !== null) return null;
		const exited = once(server, "exit");
		server.kill(signal);
		await exited;
		return server.exitCode;
	}

	async remove(): Promise<void> {
		const { stdout } = await this.run(["ls", "--all", "--json"]);
		const ids = (JSON.parse(stdout || "[]") as { id: string }[]).map(({ id }) => id);
		if (ids.length > 0) await this.run(["rm", "--force", ...ids]);
		await this.stopServer("SIGTERM");
		await rm(this.stateDir, { recursive: true, force: true });
	}
}

export async function result(child: ChildProcess): Promise<Result> {
	if (!child.stdout || !child.stderr) throw new Error("no pipes");
	const exited = once(child, "exit");
	const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
	await exited;
	return { code: child.exitCode, stdout, stderr };
}
