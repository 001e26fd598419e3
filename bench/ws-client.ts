/** The C client (ws-client.c) as the cases use it: for one measurement, or beside others until it is stopped. */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { Sample } from "./case.ts";
import type { Workshop } from "./workshop.ts";

/** Where a client connects to, and how it speaks. */
export type Target = {
	readonly protocol: "hawser" | "ttyd";
	readonly port: number;
	readonly path: string;
	readonly token: string;
};

/** No measurement takes longer unless something hangs. */
const PATIENCE_MS = 120_000;

/** Runs the client to its end. */
export async function measured(
	workshop: Workshop,
	target: Target,
	mode: readonly (string | number)[],
): Promise<Record<string, number>> {
	const running = new Client(workshop, target, mode);
	return running.finish();
}

/** A client that goes on until it is finished, which it does by itself or because its stdin ends. */
export class Client {
	readonly #child: ChildProcessByStdio<Writable, Readable, null>;
	readonly #ended: Promise<number | null>;
	readonly #first: Promise<string>;
	#last = "";

	constructor(workshop: Workshop, target: Target, mode: readonly (string | number)[]) {
		const { protocol, port, path, token } = target;
		const program = workshop.compiled("ws-client.c", "ws.c");
		this.#child = spawn(program, [protocol, port, path, token, ...mode].map(String), {
			stdio: ["pipe", "pipe", "inherit"],
			timeout: PATIENCE_MS,
			killSignal: "SIGKILL",
		});
		const lines = createInterface({ input: this.#child.stdout });
		this.#first = new Promise((resolve) => {
			lines.once("line", resolve);
			lines.once("close", () => resolve(""));
		});
		lines.on("line", (line) => {
			this.#last = line;
		});
		const closed = new Promise<void>((resolve) => lines.once("close", resolve));
		this.#ended = new Promise((resolve, reject) => {
			this.#child.once("error", reject);
			this.#child.once("exit", (code) => void closed.then(() => resolve(code)));
		});
		// Heard of by whoever finishes it.
		this.#ended.catch(() => {});
	}

	/** The first line it says: that it is ready, or what it measured before it waits for the end of stdin. */
	async said(): Promise<string> {
		const line = await this.#first;
		if (line === "") throw new Error(`the client ended with ${await this.#ended} before it was ready`);
		return line;
	}

	async finish(): Promise<Record<string, number>> {
		this.#child.stdin.end();
		const code = await this.#ended;
		if (code !== 0) throw new Error(`the client ended with ${code}`);
		return JSON.parse(this.#last) as Record<string, number>;
	}

	/** Ends it without caring for what it would say. */
	async stop(): Promise<void> {
		this.#child.kill("SIGKILL");
		await this.#ended.catch(() => {});
	}
}

/** Beside a reader that takes everything a flooding session writes, at full speed. */
export async function besideFlood(
	workshop: Workshop,
	flood: Target,
	measure: () => Promise<Sample>,
): Promise<Sample & { readonly floodRate: number }> {
	const reader = new Client(workshop, flood, ["watch", 0, 8_000_000]);
	try {
		await reader.said();
		const sample = await measure();
		const { bytes = 0, seconds = 1 } = await reader.finish();
		return { ...sample, floodRate: bytes / 1e6 / seconds };
	} finally {
		await reader.stop();
	}
}

/** Programs that write for ever. */
export function floodArgv(kind: "yes" | "cat", file: string): string[] {
	return kind === "yes" ? ["yes"] : ["/bin/sh", "-c", 'while :; do cat "$0"; done', file];
}
