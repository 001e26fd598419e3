/** The built server in a separate process, for one measurement. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { CreateSession, ScreenMessage, SearchResult, SessionList, SessionMessage } from "../src/api/types.ts";
import { readRecord } from "../src/keeper/link/session-record.ts";
import { type HomeKind, sweep } from "./homes.ts";
import type { Workshop } from "./workshop.ts";
import type { Target } from "./ws-client.ts";

/** This file runs from dist-bench/bench. */
const program = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
/** Longer than the server's own limit for closing. */
const CLOSING_MS = 10_000;

export type Created = { readonly id: string; readonly target: Target; readonly pids: readonly number[] };

export class Served {
	readonly #directory: string;
	readonly #child: ChildProcess;
	readonly #url: URL;
	readonly #token: string;

	/** Uses a new directory, or that of a killed server. */
	static async start(workshop: Workshop, directory: string = workshop.newSite()): Promise<Served> {
		// Without the rate limit for starts.
		const env = { ...process.env, HAWSER_CREATE_RATE: "0" };
		const child = spawn(process.execPath, [program, "serve", "--port", "0", "--state-dir", directory], {
			stdio: ["ignore", "pipe", "pipe"],
			env,
		});
		const errors: string[] = [];
		child.stderr.on("data", (bytes: Buffer) => errors.push(String(bytes)));
		const ended = once(child, "exit").then(() => [""]);
		const [line] = (await Promise.race([once(createInterface({ input: child.stdout }), "line"), ended])) as string[];
		const [, url] = /^listening on (\S+)$/.exec(line ?? "") ?? [];
		if (url === undefined) {
			child.kill("SIGKILL");
			throw new Error(`the server did not start: ${errors.join("")}`);
		}
		const token = (await readFile(join(directory, "admin-token"), "utf8")).trim();
		return new Served({ directory, child, url: new URL(url), token });
	}

	private constructor(parts: { directory: string; child: ChildProcess; url: URL; token: string }) {
		this.#directory = parts.directory;
		this.#child = parts.child;
		this.#url = parts.url;
		this.#token = parts.token;
	}

	get pid(): number {
		return this.#child.pid ?? Number.NaN;
	}

	/** The server itself, for requests without a session. */
	get target(): Target {
		return { protocol: "hawser", port: Number(this.#url.port), path: "/", token: this.#token };
	}

	/** Starts a session. `pids` are the processes that its output passes through. */
	async create(home: HomeKind, request: CreateSession): Promise<Created> {
		const { id } = (await this.#ask("POST", "/v1/sessions", {
			durable: home === "keeper",
			...request,
		})) as SessionMessage;
		const target = { ...this.target, path: `/v1/sessions/${id}/attach` };
		return { id, target, pids: home === "keeper" ? [this.pid, await this.keeperPid(id)] : [this.pid] };
	}

	async look(id: string): Promise<SessionMessage> {
		return (await this.#ask("GET", `/v1/sessions/${id}`)) as SessionMessage;
	}

	/** Reads all of a session's output over HTTP until its end; returns the number of bytes. */
	async readAll(id: string): Promise<number> {
		for (let offset = 0; ; ) {
			const response = await this.#fetch("GET", `/v1/sessions/${id}/output?since=${offset}&wait=10000&max=1048576`);
			const bytes = (await response.arrayBuffer()).byteLength;
			if (response.headers.get("hawser-gap") !== null) return offset;
			offset += bytes;
			if (bytes === 0 && response.headers.get("hawser-state") === "closed") return offset;
		}
	}

	async search(id: string, query: Readonly<Record<string, string>>): Promise<SearchResult> {
		return (await this.#ask("GET", `/v1/sessions/${id}/search?${new URLSearchParams(query)}`)) as SearchResult;
	}

	async screen(id: string, query: Readonly<Record<string, string>>): Promise<ScreenMessage> {
		return (await this.#ask("GET", `/v1/sessions/${id}/screen?${new URLSearchParams(query)}`)) as ScreenMessage;
	}

	/** An idle server answers this at once. */
	async health(): Promise<void> {
		await this.#ask("GET", "/healthz");
	}

	async list(): Promise<readonly SessionMessage[]> {
		return ((await this.#ask("GET", "/v1/sessions?limit=1000")) as SessionList).sessions;
	}

	/** Kills the server and starts a new one on its directory. */
	async crash(workshop: Workshop, meanwhile: () => Promise<void> = async () => {}): Promise<Served> {
		const ended = once(this.#child, "exit");
		this.#child.kill("SIGKILL");
		await ended;
		await meanwhile();
		return Served.start(workshop, this.#directory);
	}

	/** Ends the server and everything that it started. */
	async close(): Promise<void> {
		if (this.#child.exitCode === null && this.#child.signalCode === null) {
			const timer = setTimeout(() => this.#child.kill("SIGKILL"), CLOSING_MS);
			this.#child.kill("SIGTERM");
			await once(this.#child, "exit");
			clearTimeout(timer);
		}
		await sweep(this.#directory);
	}

	async keeperPid(id: string): Promise<number> {
		const record = await readRecord(join(this.#directory, "sessions", id));
		if (!record) throw new Error(`no record of session ${id}`);
		return record.keeper.pid;
	}

	async #ask(method: string, path: string, body?: unknown): Promise<unknown> {
		return (await this.#fetch(method, path, body)).json();
	}

	async #fetch(method: string, path: string, body?: unknown): Promise<Response> {
		const response = await fetch(new URL(path, this.#url), {
			method,
			headers: { authorization: `Bearer ${this.#token}`, "content-type": "application/json" },
			...(body === undefined ? {} : { body: JSON.stringify(body) }),
		});
		if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
		return response;
	}
}

/** Starts a server, calls `use`, and ends the server in any case. */
export async function serving<T>(workshop: Workshop, use: (server: Served) => Promise<T>): Promise<T> {
	const server = await Served.start(workshop);
	try {
		return await use(server);
	} finally {
		await server.close();
	}
}
