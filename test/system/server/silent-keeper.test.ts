// @module-tag slow

/**
 * A silent keeper across a restart of the server: its session is not empty, no answer is a guess, and no wait is
 * endless.
 */

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { type Client, connect, follow } from "../../../src/client/index.ts";
import type { SessionRecord } from "../../../src/keeper/link/session-record.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { main } from "../../support/hawser-command.ts";
import { eventually } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

/** More than the 10 s timeout for a keeper's answer. */
const BOUND_MS = 14_000;
const PATIENCE_MS = 60_000;
const FIRST = Array.from({ length: 2_000 }, (_, line) => `first ${line}\n`).join("");
const SECOND = Array.from({ length: 2_000 }, (_, line) => `second ${line}\n`).join("");

/** A reader's bytes in order, and its notices. */
type Got = { text: string; readonly news: string[] };
type Reader = { readonly name: string; readonly got: Got; readonly done: Promise<unknown> };

class Site {
	readonly server: CrashingServer;
	readonly token: string;
	readonly stopped = new AbortController();

	static async open(): Promise<Site> {
		const server = new CrashingServer(await temporaryDirectory());
		await server.start();
		const site = new Site(server, await server.token());
		onTestFinished(async () => {
			site.stopped.abort();
			await server.killAll();
		});
		return site;
	}

	private constructor(server: CrashingServer, token: string) {
		this.server = server;
		this.token = token;
	}

	get client(): Client {
		return connect({ url: this.server.url, token: this.token });
	}

	request(path: string, init: RequestInit = {}): Promise<Response> {
		const headers = { authorization: `Bearer ${this.token}`, ...init.headers };
		const signal = AbortSignal.any([this.stopped.signal, ...(init.signal ? [init.signal] : [])]);
		return fetch(`${this.server.url}${path}`, { ...init, headers, signal });
	}

	/** A session that echoes its input, with the first part of its output. */
	async start(mode: "pipe" | "pty" = "pipe"): Promise<string> {
		const { id } = await this.client.sessions.create({
			command: mode === "pty" ? "stty raw -echo; exec cat" : "exec cat",
			mode,
		});
		await this.write(id, FIRST);
		return id;
	}

	async write(id: string, text: string): Promise<void> {
		await this.client.sessions.at(id).write(text);
	}

	signalKeeper(id: string, signal: NodeJS.Signals): void {
		const file = join(this.server.stateDir, "sessions", id, "session.json");
		process.kill((JSON.parse(readFileSync(file, "utf8")) as SessionRecord).keeper.pid, signal);
	}
}

/** Polls the output as a client without an SDK does. */
function poller(site: Site, id: string, wait: number): Reader {
	const got: Got = { text: "", news: [] };
	const run = async () => {
		for (let since = 0; ; ) {
			const began = performance.now();
			const response = await site
				.request(`/v1/sessions/${id}/output?since=${since}&wait=${wait}`)
				.catch(() => undefined);
			const body = await response?.text().catch(() => undefined);
			if (response && performance.now() - began > BOUND_MS + wait) got.news.push("an endless wait");
			if (!response || body === undefined || response.status === 503) {
				if (site.stopped.signal.aborted) return;
				if (response) got.news.push((JSON.parse(body ?? "") as { error: { code: string } }).error.code);
				await new Promise((resolve) => setTimeout(resolve, 50));
				continue;
			}
			if (response.status !== 200) return got.news.push(`status ${response.status}: ${body}`);
			if (Number(response.headers.get("hawser-offset")) !== since) got.news.push("sent elsewhere");
			if (response.headers.get("hawser-gap")) got.news.push("gap");
			got.text += body;
			since = Number(response.headers.get("hawser-next"));
			const state = response.headers.get("hawser-state") ?? "";
			const isOver = state === "closed" || state === "lost";
			if (isOver && since >= Number(response.headers.get("hawser-end"))) return got.news.push(state);
		}
	};
	return { name: `poller ${wait}`, got, done: run() };
}

/** An event stream, resumed after its last event whenever it breaks. */
function eventStream(site: Site, id: string): Reader {
	const got: Got = { text: "", news: [] };
	const run = async () => {
		for (let lastId = ""; !site.stopped.signal.aborted; ) {
			const headers = { accept: "text/event-stream", ...(lastId ? { "last-event-id": lastId } : {}) };
			try {
				const response = await site.request(`/v1/sessions/${id}/output`, { headers });
				if (response.status === 204) return;
				if (response.status !== 200) {
					const { error } = (await response.json()) as { error: { code: string } };
					got.news.push(error.code);
				}
				let rest = "";
				for await (const chunk of response.status === 200 ? (response.body ?? []) : []) {
					const blocks = (rest + Buffer.from(chunk as Uint8Array).toString()).split("\n\n");
					rest = blocks.pop() ?? "";
					for (const block of blocks) {
						const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, "m").exec(block)?.[1] ?? "";
						if (field("id") !== "") lastId = field("id");
						if (field("event") === "output") {
							const { data } = JSON.parse(field("data")) as { data: string };
							got.text += Buffer.from(data, "base64").toString();
						} else if (["gap", "closed", "lost"].includes(field("event"))) got.news.push(field("event"));
						if (["closed", "lost"].includes(field("event"))) return;
					}
				}
			} catch (error) {
				if (site.stopped.signal.aborted) return;
				if (!(error instanceof TypeError)) throw error;
			}
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
	};
	return { name: "event stream", got, done: run() };
}

function attachment(site: Site, id: string, flow: "lossless" | "live"): Reader {
	const got: Got = { text: "", news: [] };
	const run = async () => {
		const { signal } = site.stopped;
		try {
			for await (const event of site.client.sessions.at(id).attach({ flow, role: "viewer", signal })) {
				if (event.kind === "output") got.text += Buffer.from(event.bytes).toString();
				else if (["gap", "closed", "lost"].includes(event.kind)) got.news.push(event.kind);
			}
		} catch (error) {
			if (!signal.aborted) got.news.push(`died: ${String(error)}`);
		}
	};
	return { name: `attachment ${flow}`, got, done: run() };
}

function following(site: Site, id: string): Reader {
	const got: Got = { text: "", news: [] };
	const run = async () => {
		const { signal } = site.stopped;
		try {
			const options = { signal, reconnectTimeoutMs: PATIENCE_MS };
			for await (const output of follow(site.client.sessions.at(id), 0, options)) {
				if (output.gap) got.news.push("gap");
				got.text += Buffer.from(output.bytes).toString();
				if (output.isLast) got.news.push(output.state);
			}
		} catch (error) {
			if (!signal.aborted) got.news.push(`died: ${String(error)}`);
		}
	};
	return { name: "SDK follow", got, done: run() };
}

function command(site: Site, id: string): Reader {
	const got: Got = { text: "", news: [] };
	const child = spawn(process.execPath, [main, "logs", "--follow", id], {
		env: { PATH: process.env.PATH, HOME: site.server.stateDir, HAWSER_URL: site.server.url, HAWSER_TOKEN: site.token },
		stdio: ["ignore", "pipe", "pipe"],
	});
	child.stdout.on("data", (chunk: Buffer) => {
		got.text += chunk.toString();
	});
	site.stopped.signal.addEventListener("abort", () => child.kill("SIGKILL"));
	const done = buffer(child.stderr).then((said) => {
		if (/ are gone /.test(said.toString())) got.news.push("gap");
		if (said.includes("the session was lost")) got.news.push("lost");
	});
	return { name: "hawser logs", got, done };
}

function allReaders(site: Site, id: string): Reader[] {
	return [
		poller(site, id, 0),
		poller(site, id, 1_500),
		eventStream(site, id),
		attachment(site, id, "lossless"),
		attachment(site, id, "live"),
		following(site, id),
		command(site, id),
	];
}

async function untilAllHave(readers: readonly Reader[], text: string): Promise<void> {
	for (const { name, got } of readers) {
		await eventually(
			`${name} to have ${text.length} bytes; it has ${got.text.length} and ${got.news}`,
			() => got.text.length >= text.length,
			PATIENCE_MS,
		);
		expect({ name, isExact: got.text === text }).toEqual({ name, isExact: true });
	}
}

/** When a keeper is stopped. Both cases run concurrently, since most of the time is spent waiting. */
const moments = ["before the restart", "after the restart"] as const;
type Moment = (typeof moments)[number];

test(
	"a keeper stopped before or after the restart and then continued gives every reader each byte once",
	async () => {
		const trial = async (moment: Moment) => {
			const site = await Site.open();
			const id = await site.start();
			const readers = allReaders(site, id);
			await untilAllHave(readers, FIRST);
			if (moment === "before the restart") site.signalKeeper(id, "SIGSTOP");
			await site.server.kill();
			await site.server.start();
			if (moment === "after the restart") {
				await eventually(
					"the keeper's greeting",
					async () => (await site.client.sessions.at(id).info()).offsets !== null,
				);
				site.signalKeeper(id, "SIGSTOP");
			}
			const info = await eventually("the silence", async () => {
				const asked = await site.client.sessions.at(id).info();
				return asked.unreachable && asked;
			});
			const known = moment === "before the restart" ? null : { oldest: 0, end: FIRST.length };
			expect(info).toMatchObject({ id, state: "running", unreachable: true, offsets: known });
			if (moment === "before the restart") {
				const [polling] = readers;
				await eventually("a poller's answer", () => polling?.got.news.includes("node_unavailable"));
			}
			site.signalKeeper(id, "SIGCONT");
			await eventually("the answer", async () => !(await site.client.sessions.at(id).info()).unreachable);
			await site.write(id, SECOND);
			await untilAllHave(readers, FIRST + SECOND);
			for (const { name, got } of readers) {
				expect([name, got.news.filter((news) => news !== "node_unavailable")]).toEqual([name, []]);
			}
		};
		await Promise.all(moments.map(trial));
	},
	2 * PATIENCE_MS,
);

test(
	"a keeper stopped before or after the restart and then killed gives every reader each byte once, and the loss",
	async () => {
		const trial = async (moment: Moment) => {
			const site = await Site.open();
			const id = await site.start();
			const readers = allReaders(site, id);
			await untilAllHave(readers, FIRST);
			if (moment === "before the restart") site.signalKeeper(id, "SIGSTOP");
			await site.server.kill();
			await site.server.start();
			if (moment === "after the restart") {
				await eventually(
					"the keeper's greeting",
					async () => (await site.client.sessions.at(id).info()).offsets !== null,
				);
				site.signalKeeper(id, "SIGSTOP");
			}
			await eventually("the silence", async () => (await site.client.sessions.at(id).info()).unreachable);
			site.signalKeeper(id, "SIGKILL");
			await eventually("the loss", async () => (await site.client.sessions.at(id).info()).state === "lost");
			await Promise.all(readers.map(({ done }) => done));
			for (const { name, got } of readers) {
				const news = got.news.filter((each) => each !== "node_unavailable");
				expect({ name, isExact: got.text === FIRST, news }).toEqual({ name, isExact: true, news: ["lost"] });
			}
		};
		await Promise.all(moments.map(trial));
	},
	2 * PATIENCE_MS,
);

/** Reads that need no keeper: the record, and the attachments of this server. */
const KNOWN = [
	"/v1/sessions/{id}",
	"/v1/sessions/{id}/attachments",
	"/v1/sessions/{id}/links",
	"/v1/sessions/{id}/prompts",
];

test(
	"while a keeper is stopped before or after the restart, every read answers in time without a guess, and a write reports that it may still take effect",
	async () => {
		const trial = async (moment: Moment) => {
			const site = await Site.open();
			const id = await site.start("pty");
			await eventually(
				"the output",
				async () => (await site.client.sessions.at(id).info()).offsets?.end === FIRST.length,
			);
			const restart = async () => {
				await site.server.kill();
				await site.server.start();
			};
			if (moment === "before the restart") site.signalKeeper(id, "SIGSTOP");
			await restart();
			if (moment === "after the restart") {
				await eventually(
					"the keeper's greeting",
					async () => (await site.client.sessions.at(id).info()).offsets !== null,
				);
				site.signalKeeper(id, "SIGSTOP");
			}
			const { paths } = (await (await site.request("/openapi.json")).json()) as {
				paths: Record<string, { get?: unknown }>;
			};
			const reads = Object.keys(paths).filter((path) => path.startsWith("/v1/sessions/{id}") && paths[path]?.get);
			expect(reads.length).toBeGreaterThan(8);
			const query: Readonly<Record<string, string>> = {
				"/v1/sessions/{id}/output": "?wait=1500",
				"/v1/sessions/{id}/search": "?q=first",
				"/v1/sessions/{id}/attach": "",
			};
			const asks = [
				...reads.filter((path) => !path.endsWith("/attach")).map((path) => `${path}${query[path] ?? ""}`),
				"/v1/sessions/{id}/output?since=0",
				"/v1/sessions/{id}/output?as=text",
			];
			const resizing = site.request(`/v1/sessions/${id}/resize`, {
				method: "POST",
				headers: { "content-type": "application/json" },
				body: JSON.stringify({ cols: 90, rows: 30 }),
			});
			const answers = await Promise.all(
				asks.map(async (ask) => {
					const began = performance.now();
					const response = await site.request(ask.replace("{id}", id));
					const reader = response.body?.getReader();
					const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
					// A stream that has begun waits for the keeper, and reports that in its pings.
					let text = "";
					for (let done = isStream === true; !done; ) {
						const part = await reader?.read().catch(() => ({ done: true, value: undefined }));
						text += Buffer.from(part?.value ?? []).toString();
						done = part?.done ?? true;
					}
					await reader?.cancel().catch(() => {});
					return { ask, status: response.status, text, ms: performance.now() - began };
				}),
			);
			for (const { ask, status, text, ms } of answers) {
				expect({ ask, isInTime: ms < BOUND_MS + 1_500 }).toEqual({ ask, isInTime: true });
				if (status === 200 && moment === "before the restart") expect(KNOWN).toContain(ask);
				if (status === 200 || status === 204) continue;
				expect({ ask, status, code: (JSON.parse(text) as { error: { code: string } }).error.code }).toEqual({
					ask,
					status: 503,
					code: "node_unavailable",
				});
			}
			// It was sent to a linked keeper, which may apply it at any time.
			const unknown = "its keeper is not responding, and it is unknown whether this was done";
			const resized = (await (await resizing).json()) as { error: { code: string; message: string } };
			expect(resized.error.code).toBe("node_unavailable");
			if (moment === "after the restart") expect(resized.error.message).toContain(unknown);
			else expect(resized.error.message).not.toContain("known");
			site.signalKeeper(id, "SIGCONT");
			await eventually("the keeper's answer", async () => !(await site.client.sessions.at(id).info()).unreachable);
			expect((await site.client.sessions.at(id).output(0)).end).toBe(FIRST.length);
		};
		await Promise.all(moments.map(trial));
	},
	PATIENCE_MS,
);
