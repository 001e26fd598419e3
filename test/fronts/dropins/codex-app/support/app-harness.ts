/**
 * The drop-in as it runs in production, but in this process, on each transport, with timeouts that tests can wait for.
 */

import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { PassThrough } from "node:stream";
import { expect, onTestFinished } from "vitest";
import type { SandboxPolicy } from "../../../../../src/core/process/sandbox-policy.ts";
import type { AppLimits } from "../../../../../src/fronts/dropins/codex-app/limits.ts";
import { serveAppOnStdio, startAppServer } from "../../../../../src/server/dropins/codex-app.ts";
import { type Link, openLink } from "../../codex-exec/support/exec-link.ts";
import { AppClient } from "./app-client.ts";

export type App = {
	readonly url: string;
	readonly httpUrl: string;
	/** A client after its handshake. The test fails if the server violates the protocol. */
	client(capabilities?: object | null): Promise<AppClient>;
	/** A client before its handshake. */
	stranger(): Promise<AppClient>;
	close(): Promise<void>;
};

export type AppOptions = {
	readonly policy?: SandboxPolicy;
	readonly limits?: Partial<AppLimits>;
};

const unconfined: SandboxPolicy = { type: "dangerFullAccess" };

export async function startApp({ policy = unconfined, ...options }: AppOptions = {}): Promise<App> {
	const problems: unknown[] = [];
	const clients: AppClient[] = [];
	const report = (problem: unknown) => problems.push(problem);
	const server = await startAppServer({ kind: "tcp", host: "127.0.0.1", port: 0 }, { ...options, policy, report });
	onTestFinished(async () => {
		for (const client of clients) client.cut();
		await server.close();
		expect(problems).toEqual([]);
		expect(clients.flatMap(({ violations }) => violations)).toEqual([]);
	});
	const stranger = async () => {
		const client = new AppClient(await openLink(server.url));
		clients.push(client);
		return client;
	};
	return {
		url: server.url,
		httpUrl: server.url.replace("ws:", "http:"),
		stranger,
		client: async (capabilities) => (await stranger()).initialize(capabilities),
		close: () => server.close(),
	};
}

/** A directory that is writable in a sandbox only if a policy permits it, which may be always true of /tmp. */
export async function workspace(): Promise<string> {
	const path = await mkdtemp("/var/tmp/hawser-app-");
	onTestFinished(() => rm(path, { recursive: true, force: true }));
	return path;
}

/** Starts a server in its own directory. */
export async function inDirectory<T>(directory: string, start: () => Promise<T>): Promise<T> {
	const before = process.cwd();
	process.chdir(directory);
	try {
		return await start();
	} finally {
		process.chdir(before);
	}
}

/** A server without bubblewrap. Its commands have the usual PATH. */
export async function startWithoutBubblewrap(options: AppOptions = {}): Promise<App> {
	const { PATH } = process.env;
	process.env.PATH = "/nowhere";
	try {
		return await startApp(options);
	} finally {
		process.env.PATH = PATH;
	}
}

export type StdioApp = {
	readonly client: AppClient;
	readonly input: PassThrough;
	readonly output: PassThrough;
	/** Resolves once the server and everything it started have ended. */
	readonly ended: Promise<void>;
	stop(): void;
};

export function startStdioApp({ policy = unconfined, ...options }: AppOptions = {}): StdioApp {
	const input = new PassThrough();
	const output = new PassThrough();
	const problems: unknown[] = [];
	const over = new AbortController();
	const report = (problem: unknown) => problems.push(problem);
	const ended = serveAppOnStdio({ input, output }, { ...options, policy, report }, over.signal);
	const link: Link = {
		send: (text) => input.write(`${text}\n`),
		cut: () => input.end(),
		onText: () => {},
		onClosed: () => {},
	};
	carryLines(output, link);
	void ended.then(() => link.onClosed());
	const client = new AppClient(link);
	onTestFinished(async () => {
		input.end();
		await ended;
		expect([...problems, ...client.violations]).toEqual([]);
	});
	return { client, input, output, ended, stop: () => over.abort() };
}

/** One message per line. */
export function carryLines(output: NodeJS.ReadableStream, link: Link): void {
	let rest = Buffer.alloc(0);
	output.on("data", (bytes: Buffer) => {
		rest = Buffer.concat([rest, bytes]);
		for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
			const line = rest.subarray(0, end).toString();
			rest = rest.subarray(end + 1);
			link.onText(line);
		}
	});
}

/** Whether a process with this id exists, including zombies. */
export function isThere(pid: number): boolean {
	return existsSync(`/proc/${pid}`);
}

/** The processes of the host with this argv[1], in any namespace. */
export async function findByArgument(argument: string): Promise<number[]> {
	const numbers = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
	return numbers.map(Number).filter((pid) => {
		try {
			return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[1] === argument;
		} catch {
			// It has exited meanwhile.
			return false;
		}
	});
}
