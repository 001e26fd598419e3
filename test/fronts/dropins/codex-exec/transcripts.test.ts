/**
 * Recorded conversations with the real server, replayed against ours: everything a client can observe must be equal.
 */

import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { ExecClient } from "./support/exec-client.ts";
import { startExec } from "./support/exec-harness.ts";
import { type Link, openLink } from "./support/exec-link.ts";
import { startStdioExec } from "./support/exec-stdio.ts";
import { ProcessLog } from "./support/process-log.ts";

type Message = {
	readonly id?: number;
	readonly method?: string;
	readonly params?: Record<string, unknown>;
	readonly result?: Record<string, unknown>;
	readonly error?: unknown;
};

type Line = {
	readonly conn: string;
	readonly from?: "client" | "server";
	readonly message?: Message;
	readonly event?: "ws-close" | "client-close" | "server-exit";
};

async function recording(name: string): Promise<Line[]> {
	const file = new URL(`../../../fixtures/codex/${name}.jsonl`, import.meta.url);
	const lines = (await readFile(file, "utf8")).trim().split("\n");
	return lines.map((line) => JSON.parse(line.replaceAll("<path>", process.env.PATH ?? "")) as Line);
}

/** Sends the client's messages and waits for all of the server's. */
async function replay(lines: readonly Line[], client: ExecClient): Promise<void> {
	const answers = new Map<number, Promise<unknown>>();
	for (const { from, message, event } of lines) {
		if (event === "client-close") client.cut();
		if (event !== undefined) await client.disconnected();
		else if (from === "client" && message?.id !== undefined) {
			const { id, method = "", params } = message;
			if (method === "process/start") client.processes.set(String(params?.processId), new ProcessLog());
			const answer = client.request(method, params).then(
				(result) => ({ result: normal(result as Record<string, unknown>) }),
				({ code, message: text }: { code: number; message: string }) => ({ error: { code, message: text } }),
			);
			answers.set(id, answer);
		} else if (from === "client") client.notify(message?.method ?? "", message?.params);
		else if (message?.id !== undefined) {
			const { id, result, error } = message;
			expect(await answers.get(id)).toEqual(error ? { error } : { result: normal(result ?? {}) });
		} else await told(client, message ?? {});
	}
}

/** Chunks may be split elsewhere, and two streams may interleave differently. */
async function told(client: ExecClient, { method, params = {} }: Message): Promise<void> {
	const log = client.processes.get(String(params.processId));
	if (!log) throw new Error(`no process ${params.processId}`);
	if (method === "process/exited") await log.until(({ exitCode }) => exitCode === params.exitCode);
	else if (method === "process/closed") await log.closed();
	else {
		const text = withoutNumbers(Buffer.from(String(params.chunk), "base64").toString());
		await log.until(() => withoutNumbers(log.text(String(params.stream))).includes(text));
	}
}

const withoutNumbers = (text: string) => text.replace(/\/dev\/pts\/\d+/, "/dev/pts/N");

function normal(result: Record<string, unknown>): unknown {
	if (result.sessionId !== undefined) return { sessionId: "<uuid>", environmentInfo: "<info>" };
	const chunks = result.chunks as { seq: number; stream: string }[] | undefined;
	if (!chunks) return result;
	const sorted = [...chunks].sort((a, b) => a.stream.localeCompare(b.stream));
	return { ...result, chunks: sorted.map((chunk, i) => ({ ...chunk, seq: i + 1 })) };
}

it("the recorded conversation over a WebSocket is equal to ours", async () => {
	const lines = await recording("exec-server-ws");
	const exec = await startExec();
	for (const conn of new Set(lines.map((line) => line.conn))) {
		const client = exec.watch(new ExecClient(await openLink(exec.url)));
		const own = lines.filter((line) => line.conn === conn);
		expect(own.length).toBeGreaterThan(5);
		await replay(own, client);
		for (const [id, log] of client.processes) if (log.isClosed) expect([id, kinds(own, id)]).toEqual([id, ends(log)]);
	}
});

it("the recorded conversation over stdio is equal to ours", async () => {
	const lines = await recording("exec-server-stdio");
	const exec = startStdioExec();
	const client = new ExecClient(exec.link as Link);
	const isLast = (line: Line) => line.event === "server-exit";
	await replay(
		lines.filter((line) => !isLast(line)),
		client,
	);
	expect(lines.some(isLast)).toBe(true);
	exec.input.end();
	await exec.ended;
	expect([...exec.problems, ...client.violations]).toEqual([]);
});

/** How a process ended in the recording and in this test. */
function kinds(lines: readonly Line[], id: string): (string | undefined)[] {
	const own = lines.filter(({ message }) => message?.params?.processId === id && message.id === undefined);
	return own.slice(-2).map(({ message }) => message?.method);
}

function ends(log: ProcessLog): string[] {
	return log.events.slice(-2).map(({ kind }) => `process/${kind}`);
}
