/** The `hawser` command as users run it: in its own process, with its own server. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { type Client, type ConnectOptions, type CreateSession, connect } from "../../src/client/index.ts";
import { killKeepers } from "./crashing-server.ts";

export const main: string = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

export type Result = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** A state directory, the server on it, and commands that find that server. */
export class TestHawser {
	readonly stateDir: string;
	#server: ChildProcess | undefined;
	serverRemarks = "";

	private constructor(stateDir: string) {
		this.stateDir = stateDir;
	}

	static async create(): Promise<TestHawser> {
		const installation = new TestHawser(await mkdtemp(join(tmpdir(), "hawser-cli-")));
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

	/** A client for requests that no command makes. */
	async client(options: Pick<ConnectOptions, "fetch"> = {}): Promise<Client> {
		const [announced, token] = await Promise.all(
			["server.json", "admin-token"].map((name) => readFile(join(this.stateDir, name), "utf8")),
		);
		const { url } = JSON.parse(announced ?? "") as { url: string };
		return connect({ url, token: (token ?? "").trim(), ...options });
	}

	/** Runs a script in its own session, by default on a terminal. Returns the session's id. */
	async detached(script: string, options: CreateSession = {}): Promise<string> {
		const argv = ["bash", "--norc", "-c", script];
		return (await (await this.client()).sessions.create({ argv, mode: "pty", cwd: "/tmp", ...options })).id;
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

	/** Without waiting for the output. */
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

	/**
	 * Leaves no process and no file behind: a keeper ends with all that its program started, and a server started by a
	 * command is found like keepers.
	 */
	async remove(): Promise<void> {
		await this.stopServer("SIGKILL");
		await killKeepers(this.stateDir);
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
