/**
 * Recorded conversations with the real server, replayed against ours: everything a client can observe must be equal.
 */

import { readFile, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { temporaryDirectory } from "../../../support/temporary.ts";
import type { AppClient } from "./support/app-client.ts";
import { startApp, startStdioApp } from "./support/app-harness.ts";

type Message = {
	readonly id?: number | string;
	readonly method?: string;
	readonly params?: Record<string, unknown>;
	readonly result?: unknown;
	readonly error?: { readonly code: number; readonly message: string };
};

type Line =
	| { readonly note: string; readonly from?: never }
	| { readonly from: "client"; readonly text: string }
	/** A file that a program waits for. */
	| { readonly from: "test"; readonly opens: string }
	/** `or` is also correct, because the result depends on how far the program's exit has progressed. */
	| { readonly from: "server"; readonly message: Message; readonly or?: readonly Message[] };

/** The server waits 2 s for other holders of the pipes, which can be shorter here. */
const limits = { drainMs: 300 };

async function recording(name: string): Promise<Line[]> {
	const file = new URL(`../../../fixtures/codex/app-server-${name}.jsonl`, import.meta.url);
	const text = (await readFile(file, "utf8")).replaceAll("<cwd>", process.cwd()).replaceAll("<home>", homedir());
	return text
		.replaceAll("<gate>", join(await temporaryDirectory(), "gate"))
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line) as Line);
}

type Stream = "stdout" | "stderr";
type Told = { readonly text: Record<Stream, string>; readonly capped: Record<Stream, boolean> };

const nothingTold = (): Told => ({ text: { stdout: "", stderr: "" }, capped: { stdout: false, stderr: false } });

/** Sends the client's messages, each after all messages that the server had sent before it. */
class Replay {
	readonly #client: AppClient;
	readonly #answers = new Map<number | string, Promise<unknown>[]>();
	/** The programs started under a name, with the request that started them. */
	readonly #started = new Map<number | string, string>();
	/** The recorded output of each program since its start. */
	readonly #told = new Map<string, Told>();
	#note = "";

	constructor(client: AppClient) {
		this.#client = client;
	}

	async run(lines: readonly Line[]): Promise<void> {
		for (const line of lines) {
			if (line.from === undefined) this.#note = line.note;
			else if (line.from === "client") this.#say(line.text);
			else if (line.from === "test") await writeFile(line.opens, "");
			else await this.#hear(line.message, line.or);
		}
	}

	#say(text: string): void {
		const message = parsed(text);
		const id = message?.id;
		const isRequest = message?.method !== undefined && (typeof id === "string" || Number.isInteger(id));
		if (!isRequest || id === undefined) {
			this.#client.send(text);
			return;
		}
		const { processId, processHandle } = message.params ?? {};
		if (message.method === "command/exec" && typeof processId === "string") this.#started.set(id, processId);
		if (message.method === "command/exec") this.#told.delete(String(processId));
		if (message.method === "process/spawn") this.#told.delete(`handle ${processHandle}`);
		const answer = this.#client.post(text).then(
			(result) => ({ result }),
			({ code, message: reason }: { code: number; message: string }) => ({ error: { code, message: reason } }),
		);
		this.#answers.set(id, [...(this.#answers.get(id) ?? []), answer]);
	}

	async #hear({ id, method, params = {}, result, error }: Message, or: readonly Message[] = []): Promise<void> {
		if (method === "process/exited") {
			const { processHandle, ...exited } = params;
			expect([this.#note, await this.#client.exited(String(processHandle))]).toEqual([this.#note, exited]);
			this.#compareOutput(`handle ${processHandle}`);
		} else if (method !== undefined) await this.#hearOutput(params);
		else await this.#hearAnswer(id ?? "", error ? { error } : { result }, or);
	}

	/** Chunks may be split elsewhere, and two streams may interleave differently. */
	async #hearOutput(params: Record<string, unknown>): Promise<void> {
		const { processId, processHandle, stream, deltaBase64, capReached } = params;
		const key = processId === undefined ? `handle ${processHandle}` : String(processId);
		const { text, capped } = this.#told.get(key) ?? nothingTold();
		const name = stream === "stderr" ? "stderr" : "stdout";
		text[name] += Buffer.from(String(deltaBase64), "base64").toString();
		capped[name] = capReached === true;
		this.#told.set(key, { text, capped });
		await this.#client.until(() => {
			const deltas = this.#client.deltas(key);
			// More output may have come in the same chunk, and the cap with it.
			const isTold = deltas.text(name).startsWith(text[name]) && (deltas.capped[name] || !capped[name]);
			return isTold || undefined;
		});
	}

	/** The complete output of an ended program. */
	#compareOutput(key: string): void {
		const { text, capped } = this.#told.get(key) ?? nothingTold();
		const deltas = this.#client.deltas(key);
		const came = { text: { stdout: deltas.text(), stderr: deltas.text("stderr") }, capped: deltas.capped };
		expect([this.#note, came]).toEqual([this.#note, { text, capped }]);
	}

	async #hearAnswer(id: number | string, expected: Message, or: readonly Message[] = []): Promise<void> {
		const answers = this.#answers.get(id) ?? [];
		// If an id is in use twice, the first answer counts.
		const answer = (await Promise.race(answers)) as { error?: { message: string } };
		this.#answers.set(id, await without(answers, answer));
		const wanted = or.find(({ error }) => error?.message === answer.error?.message) ?? expected;
		expect([this.#note, answer]).toEqual([this.#note, matching(wanted)]);
		const started = this.#started.get(id);
		if (started !== undefined && !answer.error) this.#compareOutput(started);
	}
}

function matching({ result, error }: Message): unknown {
	if (result === "<greeting>") return { result: expect.objectContaining({ platformFamily: "unix" }) };
	if (!error?.message.endsWith("…")) return error ? { error } : { result };
	return { error: { code: error.code, message: expect.stringContaining(error.message.slice(0, -1)) } };
}

async function without(answers: readonly Promise<unknown>[], answer: unknown): Promise<Promise<unknown>[]> {
	const nothing = {};
	const now = await Promise.all(answers.map((each) => Promise.race([each, Promise.resolve(nothing)])));
	return answers.filter((_, i) => now[i] !== answer);
}

function parsed(text: string): Message | undefined {
	try {
		return JSON.parse(text) as Message;
	} catch {
		return undefined;
	}
}

const recordings = ["handshake", "buffered", "streaming", "stdin", "tty", "endings", "process", "sandbox"];

beforeAll(() => {
	process.env.LAB_BASE = "server";
	return () => {
		delete process.env.LAB_BASE;
	};
});

it.each(recordings)("the recorded conversation (%s) is equal to ours, on stdio and on a WebSocket", async (name) => {
	const app = await startApp({ limits });
	const clients = [startStdioApp({ limits }).client, await app.stranger()];
	const replays = clients.map(async (client) => {
		const lines = await recording(name);
		expect(lines.length).toBeGreaterThan(30);
		await new Replay(client).run(lines);
	});
	await Promise.all(replays);
});
