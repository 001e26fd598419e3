/** Legitimate clients during an attack: they send requests on new connections and type into their session. */

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { WebSocket } from "ws";
import { AppClient } from "../../../fronts/dropins/codex-app/support/app-client.ts";
import { ExecClient } from "../../../fronts/dropins/codex-exec/support/exec-client.ts";
import { openLink } from "../../../fronts/dropins/codex-exec/support/exec-link.ts";
import { TestSocket } from "../../../support/socket-client.ts";
import { type Address, dial } from "./address.ts";

/**
 * The objects that attackers have access to: a session with some megabytes of output, a PTY of OpenSandbox, and a
 * token.
 */
export type Target = { readonly session: string; readonly pty: string; readonly token: string };

/** The address of a Multica terminal for a manager of the workspace. */
export const multica = { workspace: "5a3b0c1e-9f0d-4f6e-8a51-0c7d2e4b6f80", task: "task", issue: "MUL-1" } as const;

export interface Insider {
	readonly target: Target;
	/** The keeper processes. */
	readonly keepers: readonly number[];
	/** A request on its own connection, for each way in. */
	readonly questions: readonly (() => Promise<unknown>)[];
	/** Types a key and waits for its echo. */
	echo(): Promise<void>;
	leave(): Promise<void>;
}

/** The attackers' role. */
export type Who = "stranger" | "viewer" | "controller" | "manager" | "operator";

export type Grounds = {
	/** The addresses of the native API. */
	readonly ways: readonly [Address, ...Address[]];
	/** The operator's token there. */
	readonly token: string;
	/** The address of OpenSandbox, and its token if it requires one. */
	readonly openSandbox: { readonly address: Address; readonly prefix: string; readonly token: string | undefined };
};

/** The operator of a server with the native API, present through all trials: lists the sessions. */
export class Operator {
	readonly #grounds: Grounds;
	readonly #stay: Promise<{ readonly session: string; readonly echo: TestSocket }>;

	constructor(grounds: Grounds) {
		this.#grounds = grounds;
		this.#stay = this.#settle();
		this.#stay.catch(() => {});
	}

	async enter(who: Who): Promise<Insider> {
		const { ways, openSandbox } = this.#grounds;
		const { session, echo } = await this.#stay;
		const workspace = `/v1/workspaces/${multica.workspace}`;
		const openTask = async () => {
			await this.#ask("PUT", workspace, { roots: ["/"] });
			await this.#ask("PUT", `${workspace}/tasks/${multica.task}`, { workDir: "/", issueKey: multica.issue });
		};
		const openPty = async () => {
			const pty = String((await this.#askSandbox("POST", "/pty", {})).session_id);
			return { pty, holder: await hold(openSandbox, pty) };
		};
		const scopes = scopesOf(who, session);
		const makeToken = async () =>
			scopes ? String((await this.#ask("POST", "/v1/tokens", { scopes })).token) : (openSandbox.token ?? "");
		const [{ pty, holder }, token] = await Promise.all([openPty(), makeToken(), openTask()]);
		// Processes of the trial before may have ended without being gone, or end now.
		const pids = (await this.#list(ways[0])).flatMap(({ pid }) => pid ?? []);
		const keepers = (await Promise.all(pids.map(keeperOf))).filter((keeper) => keeper !== undefined);
		return {
			target: { session, pty, token },
			keepers,
			questions: ways.map((way) => () => this.#list(way)),
			async echo() {
				const typed = echo.output.byteLength;
				echo.type(typed, "k");
				await echo.until("an echo", () => echo.output.byteLength > typed);
			},
			leave: async () => {
				holder.terminate();
				await Promise.all([this.#askSandbox("DELETE", `/pty/${pty}`), this.#ask("DELETE", `${workspace}?force=1`)]);
			},
		};
	}

	/** A session with much output, and one that echoes. */
	async #settle(): Promise<{ readonly session: string; readonly echo: TestSocket }> {
		const { ways, token } = this.#grounds;
		const create = async (argv: readonly string[]) =>
			String((await this.#ask("POST", "/v1/sessions", { argv, mode: "pipe" })).id);
		const commands = [["sh", "-c", "head -c 8000000 /dev/zero; exec cat"], ["cat"]];
		const [session = "", other = ""] = await Promise.all(commands.map(create));
		for (let end = 0; end < 8_000_000; )
			end = ((await this.#ask("GET", `/v1/sessions/${session}`)) as { offsets: { end: number } }).offsets.end;
		return {
			session,
			echo: await TestSocket.open("http://localhost", other, {}, { token, dial: () => dial(ways[0]) }),
		};
	}

	#ask(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
		return request(this.#grounds.ways[0], this.#grounds.token, { method, path, body });
	}

	#askSandbox(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
		const { address, prefix, token } = this.#grounds.openSandbox;
		return request(address, token, { method, path: `${prefix}${path}`, body });
	}

	async #list(way: Address): Promise<{ pid: number | null }[]> {
		const { sessions } = await request(way, this.#grounds.token, { method: "GET", path: "/v1/sessions" });
		return sessions as { pid: number | null }[];
	}
}

/** Undefined for the operator's own session. */
function scopesOf(who: Who, session: string): string[] | undefined {
	if (who === "operator") return undefined;
	if (who === "manager") return ["workspace:default:manage", `workspace:${multica.workspace}:manage`];
	if (who === "controller") return [`session:${session}:control`, "workspace:default:operate"];
	return [`session:${session}:view`, "workspace:default:read", `workspace:${multica.workspace}:read`];
}

/** Undefined where only a Codex protocol is served. */
const nothing: Target = { session: "", pty: "", token: "" };

/** A client of exec-server. It performs a handshake. */
export async function enterExecServer(url: string): Promise<Insider> {
	const client = await ExecClient.open(url);
	const log = await client.start("echo", ["cat"], { pipeStdin: true });
	let typed = 0;
	return {
		target: nothing,
		keepers: [],
		questions: [async () => (await ExecClient.open(url)).cut()],
		async echo() {
			await client.write("echo", "k", String(++typed));
			await log.until(() => log.bytes >= typed);
		},
		leave: async () => client.cut(),
	};
}

/** A client of app-server. It performs a handshake. */
export async function enterAppServer(url: string): Promise<Insider> {
	const open = async () => new AppClient(await openLink(url)).initialize();
	const client = await open();
	const streams = { streamStdin: true, streamStdoutStderr: true, disableTimeout: true };
	// Ends with the connection, which is no answer.
	client.exec(["cat"], { processId: "echo", ...streams }).catch(() => {});
	let typed = 0;
	return {
		target: nothing,
		keepers: [],
		questions: [async () => (await open()).cut()],
		async echo() {
			typed++;
			await client.write("echo", "k");
			await client.output("echo", "k".repeat(typed));
		},
		leave: async () => client.cut(),
	};
}

type Asked = { readonly method: string; readonly path: string; readonly body?: object | undefined };

function request(
	address: Address,
	token: string | undefined,
	{ method, path, body }: Asked,
): Promise<Record<string, unknown>> {
	const headers = { ...credentials(token), ...(body ? { "content-type": "application/json" } : {}) };
	const options = { method, path, headers, createConnection: () => dial(address) } as const;
	return new Promise((resolve, reject) => {
		const answered = async (response: IncomingMessage) => {
			const said = await text(response);
			if ((response.statusCode ?? 0) >= 300) throw new Error(`${method} ${path}: ${response.statusCode} ${said}`);
			return said === "" ? {} : (JSON.parse(said) as Record<string, unknown>);
		};
		// An answer may also be cut off in the middle.
		const asked = httpRequest(options, (response) => resolve(answered(response)));
		asked.on("error", reject).end(body && JSON.stringify(body));
	});
}

export function credentials(token: string | undefined): Record<string, string> {
	return token === undefined ? {} : { authorization: `Bearer ${token}`, "x-execd-access-token": token };
}

/** Starts the shell of a PTY and stays connected until it is disconnected. */
async function hold({ address, prefix, token }: Grounds["openSandbox"], pty: string): Promise<WebSocket> {
	const socket = new WebSocket(`ws://localhost${prefix}/pty/${pty}/ws`, {
		headers: credentials(token),
		createConnection: () => dial(address),
	});
	socket.on("error", () => {});
	// A closed connection sends no answer, so the wait must end with it.
	const closed = once(socket, "close").then(() => Promise.reject(new Error("the socket of the PTY was closed")));
	closed.catch(() => {});
	await Promise.race([once(socket, "message"), closed]);
	return socket;
}

/** The keeper of a program: one of its ancestors. Undefined if the program has exited meanwhile. */
async function keeperOf(pid: number): Promise<number | undefined> {
	const read = (path: string) => readFile(path, "utf8").catch(() => undefined);
	for (let above = pid; above > 1; ) {
		const [command, status] = [await read(`/proc/${above}/cmdline`), await read(`/proc/${above}/status`)];
		if (command === undefined || status === undefined) return undefined;
		if (command.includes("keeper/main.js")) return above;
		above = Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1]);
	}
	throw new Error(`process ${pid} has no keeper`);
}
