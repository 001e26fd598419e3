/** The built server as a process of its own, killed and started again on one state directory and one port. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const run = promisify(execFile);

export type ServerOptions = {
	/** The checkout, whose `dist` is run. */
	readonly root: string;
	readonly stateDir: string;
	/** Variables for the server alone. */
	readonly env: Readonly<Record<string, string>>;
};

export class Server {
	readonly #options: ServerOptions;
	readonly #log: string[] = [];
	#child: ChildProcess | undefined;
	#port = 0;

	constructor(options: ServerOptions) {
		this.#options = options;
	}

	get url(): string {
		return `http://127.0.0.1:${this.#port}`;
	}

	get pid(): number {
		const pid = this.#child?.pid;
		if (pid === undefined) throw new Error("the server was never started");
		return pid;
	}

	/** Lines that a server wrote to stderr, of all its starts. */
	get log(): readonly string[] {
		return this.#log;
	}

	async token(): Promise<string> {
		return (await readFile(join(this.#options.stateDir, "admin-token"), "utf8")).trim();
	}

	/** Resolves when the server answers. */
	async start(): Promise<void> {
		const { root, stateDir, env } = this.#options;
		const flags = ["--state-dir", stateDir, "--runtime-dir", join(stateDir, "run"), "--port", String(this.#port)];
		const limits = ["--create-rate", "0", "--max-journal", "256MiB"];
		const child = spawn(process.execPath, [join(root, "dist/cli/main.js"), "serve", ...flags, ...limits], {
			env: { PATH: process.env.PATH ?? "", HOME: stateDir, ...env },
			stdio: ["ignore", "pipe", "pipe"],
		});
		this.#child = child;
		createInterface({ input: child.stderr }).on("line", (line) => this.#log.push(line));
		const ended = once(child, "exit").then(() => undefined);
		const first = await Promise.race([once(createInterface({ input: child.stdout }), "line"), ended]);
		const address = /http:\/\/127\.0\.0\.1:(\d+)/.exec(String(first?.[0]));
		if (!address) throw new Error(`the server did not start:\n${this.#log.slice(-20).join("\n")}`);
		this.#port = Number(address[1]);
	}

	signal(signal: NodeJS.Signals): void {
		this.#child?.kill(signal);
	}

	/** Kills the server and waits until it is gone. */
	async kill(): Promise<void> {
		await this.#end("SIGKILL");
	}

	/** Asks the server to end, and waits until it has. */
	async stop(): Promise<void> {
		await this.#end("SIGTERM");
	}

	/** Leaves the running server only so many free descriptors while the work goes on. */
	async withFreeDescriptors(free: number, work: () => Promise<void>): Promise<void> {
		const limits = await readFile(`/proc/${this.pid}/limits`, "utf8");
		const [, soft] = /^Max open files +(\d+)/m.exec(limits) ?? [];
		if (soft === undefined) throw new Error(`no limit of open files in ${limits}`);
		const open = (await readdir(`/proc/${this.pid}/fd`)).length;
		await this.#limitDescriptors(open + free);
		await work();
		await this.#limitDescriptors(Number(soft));
	}

	async #limitDescriptors(soft: number): Promise<void> {
		await run("prlimit", ["--pid", String(this.pid), `--nofile=${soft}:`]);
	}

	/** The pid of the keeper that holds a session. */
	async keeperOf(session: string): Promise<number> {
		const record = await readFile(join(this.#options.stateDir, "sessions", session, "session.json"), "utf8");
		return (JSON.parse(record) as { keeper: { pid: number } }).keeper.pid;
	}

	/** The pids of keepers that wait for a session. */
	async spares(): Promise<number[]> {
		const sessions = await readdir(join(this.#options.stateDir, "sessions"));
		const keepers = await Promise.all(sessions.map((session) => this.keeperOf(session).catch(() => undefined)));
		return this.processes().filter((pid) => isKeeper(pid) && !keepers.includes(pid));
	}

	/** Every process with the state directory in its command line, such as keepers and spares. */
	processes(): number[] {
		return readdirSync("/proc").flatMap((name) => {
			try {
				const isOurs = readFileSync(`/proc/${name}/cmdline`, "latin1").includes(this.#options.stateDir);
				return /^\d+$/.test(name) && isOurs ? [Number(name)] : [];
			} catch {
				// Not a process, or it has ended.
				return [];
			}
		});
	}

	async #end(signal: NodeJS.Signals): Promise<void> {
		const child = this.#child;
		if (!child || child.exitCode !== null || child.signalCode !== null) return;
		const ended = once(child, "exit");
		child.kill(signal);
		await ended;
	}
}

function isKeeper(pid: number): boolean {
	try {
		return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("/keeper/main.js\0");
	} catch {
		return false;
	}
}
