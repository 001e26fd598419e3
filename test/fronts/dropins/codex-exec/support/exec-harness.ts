/** The drop-in as it runs in production, but in this process, with timeouts that tests can wait for. */

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import type { ExecLimits } from "../../../../../src/fronts/dropins/codex-exec/limits.ts";
import { startExecServer } from "../../../../../src/server/dropins/codex-exec.ts";
import { ExecClient } from "./exec-client.ts";

export type Exec = {
	readonly url: string;
	readonly httpUrl: string;
	/** A client after its handshake. The test fails if the server violates the protocol. */
	client(): Promise<ExecClient>;
	watch(client: ExecClient): ExecClient;
};

/** Runs in its own process, which requires a compiled build. */
const fileWorker = fileURLToPath(
	new URL("../../../../../dist/fronts/dropins/codex-exec/files/worker.js", import.meta.url),
);

export type ExecOptions = { readonly concurrency?: number; readonly limits?: Partial<ExecLimits> };

export async function startExec({ concurrency = 1, limits = {} }: ExecOptions = {}): Promise<Exec> {
	const problems: unknown[] = [];
	const clients: ExecClient[] = [];
	const report = (problem: unknown) => problems.push(problem);
	const options = { concurrency, limits, fileWorker, report };
	const server = await startExecServer({ host: "127.0.0.1", port: 0 }, options);
	onTestFinished(async () => {
		for (const client of clients) client.cut();
		await server.close();
		expect(problems).toEqual([]);
		expect(clients.flatMap(({ violations }) => violations)).toEqual([]);
	});
	const watch = (client: ExecClient) => {
		clients.push(client);
		return client;
	};
	return {
		url: server.url,
		httpUrl: server.url.replace("ws:", "http:"),
		client: async () => watch(await ExecClient.open(server.url)),
		watch,
	};
}

/** Runs a script in a shell that is the process itself. */
export function sh(script: string): string[] {
	return ["/bin/sh", "-c", script];
}

/** Waits for a file that a process writes while no client is connected. */
export async function contentOf(file: string): Promise<string> {
	for (;;) {
		const text = await readFile(file, "utf8").catch(() => "");
		if (text !== "") return text;
		await new Promise((resolve) => setImmediate(resolve));
	}
}
