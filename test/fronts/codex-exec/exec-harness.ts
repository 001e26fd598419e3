/** The drop-in as it runs in production, but in this process, with times that a test can wait for. */

import { readFile } from "node:fs/promises";
import { expect, onTestFinished } from "vitest";
import type { ExecLimits } from "../../../src/fronts/codex-exec/limits.ts";
import { startExecServer } from "../../../src/server/exec-server.ts";
import { ExecClient } from "./exec-client.ts";

export type Exec = {
	readonly url: string;
	readonly httpUrl: string;
	/** A client that has done its handshake; the test fails if the server breaks a rule towards it. */
	client(): Promise<ExecClient>;
	watch(client: ExecClient): ExecClient;
};

export type ExecOptions = { readonly concurrency?: number; readonly limits?: Partial<ExecLimits> };

export async function startExec({ concurrency = 1, limits = {} }: ExecOptions = {}): Promise<Exec> {
	const problems: unknown[] = [];
	const clients: ExecClient[] = [];
	const report = (problem: unknown) => problems.push(problem);
	const server = await startExecServer({ host: "127.0.0.1", port: 0 }, { concurrency, limits, report });
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

/** Waits for what a process leaves in a file, which it does while nobody is connected. */
export async function contentOf(file: string): Promise<string> {
	for (;;) {
		const text = await readFile(file, "utf8").catch(() => "");
		if (text !== "") return text;
		await new Promise((resolve) => setImmediate(resolve));
	}
}
