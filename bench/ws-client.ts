/** Runs the C client (ws-client.c): for one measurement, or in the background until it is stopped. */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { Sample } from "./case.ts";
import type { Workshop } from "./workshop.ts";

/** The address and protocol of a server. */
export type Target = {
	readonly protocol: "hawser" | "ttyd";
	readonly port: number;
	readonly path: string;
	readonly token: string;
};

/** Longer than any measurement. */
const TIMEOUT_MS = 120_000;

/** Runs the client to its end. */
export async function measured(
	workshop: Workshop,
	target: Target,
	mode: readonly (string | number)[],
): Promise<Record<string, number>> {
	const running = new Client(workshop, target, mode);
	return running.finish();
}

/** A client that runs until it finishes or its stdin ends. */
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
			timeout: TIMEOUT_MS,
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
		// `finished` reports the failure.
		this.#ended.catch(() => {});
	}

	/** The first line of its output: it is ready, or its results before it waits for the end of stdin. */
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

	/** Kills it and ignores its results. */
	async stop(): Promise<void> {
		this.#child.kill("SIGKILL");
		await this.#ended.catch(() => {});
	}
}

/** Measures while a reader takes a flooding session's output at full speed. */
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

/** Programs that write endlessly. */
export function floodArgv(kind: "yes" | "cat", file: string): string[] {
	return kind === "yes" ? ["yes"] : ["/bin/sh", "-c", 'while :; do cat "$0"; done', file];
}
