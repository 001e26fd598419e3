/** Those who are in while somebody does their worst: they ask on new connections, and type into a session of theirs. */

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { WebSocket } from "ws";
import { AppClient } from "../../fronts/codex-app/app-client.ts";
import { ExecClient } from "../../fronts/codex-exec/exec-client.ts";
import { openLink } from "../../fronts/codex-exec/exec-link.ts";
import { TestSocket } from "../../fronts/native/test-socket.ts";
import { type Address, dial } from "./address.ts";

/** What the worst clients are given: a session with some megabytes of output, a PTY of OpenSandbox, and a token. */
export type Target = { readonly session: string; readonly pty: string; readonly token: string };

/** Where a terminal of Multica's can be had, by who may manage the workspace. */
export const multica = { workspace: "5a3b0c1e-9f0d-4f6e-8a51-0c7d2e4b6f80", task: "task", issue: "MUL-1" } as const;

export interface Insider {
	readonly target: Target;
	/** The processes that keep the sessions. */
	readonly keepers: readonly number[];
	/** A question on a connection of its own, for each way in. */
	readonly questions: readonly (() => Promise<unknown>)[];
	/** Types a key and waits until it comes back. */
	echo(): Promise<void>;
	leave(): Promise<void>;
}

/** Whose token the worst clients have. */
export type Who = "nobody" | "viewer" | "controller" | "manager" | "operator";

export type Grounds = {
	/** Where the native API is, by every way there is to it. */
	readonly ways: readonly [Address, ...Address[]];
	/** The operator's token there. */
	readonly token: string;
	/** Where OpenSandbox is served, and its token, if it asks for one. */
	readonly openSandbox: { readonly address: Address; readonly prefix: string; readonly token: string | undefined };
};

/** The operator of a server with the native API, who stays while others come and go: asks for the list of sessions. */
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
		// What the one before has left may have ended and not be gone yet, or end now.
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

	/** A session that has written a lot, and one that echoes. */
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

/** Undefined for the operator's own. */
function scopesOf(who: Who, session: string): string[] | undefined {
	if (who === "operator") return undefined;
	if (who === "manager") return ["workspace:default:manage", `workspace:${multica.workspace}:manage`];
	if (who === "controller") return [`session:${session}:control`, "workspace:default:operate"];
	return [`session:${session}:view`, "workspace:default:read", `workspace:${multica.workspace}:read`];
}

/** Where there is nothing but a protocol of Codex. */
const nothing: Target = { session: "", pty: "", token: "" };

/** A client of exec-server: asks for a handshake. */
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

/** A client of app-server: asks for a handshake. */
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
		// An answer may be cut off in the middle, too.
		const asked = httpRequest(options, (response) => resolve(answered(response)));
		asked.on("error", reject).end(body && JSON.stringify(body));
	});
}

export function credentials(token: string | undefined): Record<string, string> {
	return token === undefined ? {} : { authorization: `Bearer ${token}`, "x-execd-access-token": token };
}

/** Starts the shell of a PTY, and stays there unless it is sent away. */
async function hold({ address, prefix, token }: Grounds["openSandbox"], pty: string): Promise<WebSocket> {
	const socket = new WebSocket(`ws://localhost${prefix}/pty/${pty}/ws`, {
		headers: credentials(token),
		createConnection: () => dial(address),
	});
	socket.on("error", () => {});
	// One that is cut off says nothing, and must not be waited for without end.
	const closed = once(socket, "close").then(() => Promise.reject(new Error("the socket of the PTY was closed")));
	closed.catch(() => {});
	await Promise.race([once(socket, "message"), closed]);
	return socket;
}

/** The process that has a program's session: one of those above it. Undefined if the program has gone meanwhile. */
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
