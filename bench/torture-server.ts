/** A server process that is killed and restarted on the same directory and port. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { ServerInput } from "./programs/server.ts";

const program = fileURLToPath(new URL("./programs/server.js", import.meta.url));

export class TortureServer {
	readonly #directory: string;
	#child: ChildProcess | undefined;
	#url = "";

	constructor(directory: string) {
		this.#directory = directory;
	}

	get url(): string {
		return this.#url;
	}

	async token(): Promise<string> {
		return (await readFile(join(this.#directory, "admin-token"), "utf8")).trim();
	}

	/** Resolves when the server answers, or has crashed where it should. */
	async start(crash?: { readonly crashAt: string; readonly crashAfter: number }): Promise<void> {
		const port = this.#url === "" ? 0 : Number(new URL(this.#url).port);
		const input: ServerInput & { directory: string } = { directory: this.#directory, port, ...crash };
		const child = spawn(process.execPath, [program, JSON.stringify(input)], { stdio: ["ignore", "pipe", "inherit"] });
		this.#child = child;
		const ended = once(child, "exit").then(() => undefined);
		const first = await Promise.race([once(createInterface({ input: child.stdout }), "line"), ended]);
		if (first) this.#url = String(first[0]);
		else if (!crash) throw new Error("the server ended before it listened");
	}

	/** Kills the server unless it has crashed, and waits for its end. */
	async kill(): Promise<void> {
		this.#child?.kill("SIGKILL");
		await this.dead();
	}

	/** Stops the server gracefully. */
	async stop(): Promise<void> {
		this.#child?.kill("SIGTERM");
		await this.dead();
	}

	get isDead(): boolean {
		const child = this.#child;
		return child === undefined || child.exitCode !== null || child.signalCode !== null;
	}

	async dead(): Promise<void> {
		if (this.#child && !this.isDead) await once(this.#child, "exit");
	}
}
