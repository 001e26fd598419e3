/** A real server process on a state directory, restarted after every SIGKILL at the same address. */

import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Config } from "../../src/server/config.ts";
import type { ServerOptions } from "../../src/server/server.ts";
import { killIfThere } from "./alive.ts";
import { eventually } from "./reading.ts";

const program = fileURLToPath(new URL("../fixtures/crashing-server.js", import.meta.url));

export type Crash = { readonly crashAt: string; readonly crashAfter: number };

export class CrashingServer {
	readonly #stateDir: string;
	/** A fixed address: the kernel would give its port to others while no server runs. */
	readonly #host = `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(1, 255)}`;
	#port = 0;
	#child: ChildProcess | undefined;
	#url = "";

	readonly #settings: Partial<Config>;
	/** As JSON can encode them. */
	readonly #options: Partial<ServerOptions>;

	constructor(stateDir: string, settings: Partial<Config> = {}, options: Partial<ServerOptions> = {}) {
		this.#stateDir = stateDir;
		this.#settings = settings;
		this.#options = options;
	}

	get url(): string {
		return this.#url;
	}

	get pid(): number {
		return this.#child?.pid ?? Number.NaN;
	}

	get stateDir(): string {
		return this.#stateDir;
	}

	async token(): Promise<string> {
		return (await readFile(join(this.#stateDir, "admin-token"), "utf8")).trim();
	}

	/** Resolves once the server answers, or has died at its crash point. */
	async start(crash?: Crash): Promise<void> {
		const config = {
			host: this.#host,
			port: this.#port,
			stateDir: this.#stateDir,
			runtimeDir: join(this.#stateDir, "run"),
			maxSessions: 100,
			maxWorkspaceSessions: 100,
			fsync: "interval",
			spares: 1,
			maxDiskBytes: 2 ** 40,
			maxAuditBytes: 64 * 1024 * 1024,
			retention: { memoryBytes: 1024 * 1024, journalBytes: 64 * 1024 * 1024 },
			cwd: "/",
			cgroup: null,
			secretSources: null,
			agentPolicy: null,
			agentRules: join(this.#stateDir, "no-agent-rules"),
			allowedHosts: [],
			auth: true,
			webhookLinkLocal: false,
			behindProxy: false,
			...this.#settings,
		};
		const child = spawn(process.execPath, [program, JSON.stringify({ config, options: this.#options, ...crash })], {
			// Shells do not run the startup files of this account.
			env: { ...process.env, HOME: this.#stateDir },
			stdio: ["ignore", "pipe", "inherit"],
		});
		this.#child = child;
		const lines = createInterface({ input: child.stdout });
		const ended = once(child, "exit");
		const first = await Promise.race([once(lines, "line"), ended.then(() => undefined)]);
		if (!first) {
			if (crash) return;
			throw new Error("the server ended before it listened");
		}
		this.#url = String(first[0]);
		this.#port = Number(new URL(this.#url).port);
	}

	/** Resolves once the server has killed itself. */
	async ended(): Promise<void> {
		const child = this.#child;
		if (child && child.exitCode === null && child.signalCode === null) await once(child, "exit");
	}

	/** Kills the server, unless it has killed itself, and waits until it is gone. */
	kill(): Promise<void> {
		return this.#end("SIGKILL");
	}

	/** Ends the server with a signal and waits for its exit. */
	stop(): Promise<void> {
		return this.#end("SIGTERM");
	}

	/** Kills the server and all its keepers, and waits until none can write to its directory. */
	async killAll(): Promise<void> {
		await this.kill();
		await killKeepers(this.#stateDir);
	}

	async #end(signal: NodeJS.Signals): Promise<void> {
		const child = this.#child;
		if (!child) return;
		if (child.exitCode !== null || child.signalCode !== null) return;
		const ended = once(child, "exit");
		child.kill(signal);
		await ended;
	}

	/** Resolves once the server is dead. */
	async dead(): Promise<void> {
		const child = this.#child;
		if (child && child.exitCode === null && child.signalCode === null) await once(child, "exit");
	}
}

/** Kills the keepers of a state directory and waits until none is left. */
export async function killKeepers(stateDir: string): Promise<void> {
	await eventually("the keepers' end", () => {
		const keepers = findByCommand(stateDir);
		for (const pid of keepers) killIfThere(pid);
		return keepers.length === 0;
	});
}

/** The processes with this text in their command line, which for a keeper has the path of its socket. */
function findByCommand(part: string): number[] {
	return readdirSync("/proc").flatMap((name) => {
		try {
			const isFound = /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, "latin1").includes(part);
			return isFound ? [Number(name)] : [];
		} catch {
			// It has exited meanwhile.
			return [];
		}
	});
}
