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

/** The operator of a server with the native API: asks for the list of sessions. */
export async function enterAsOperator(grounds: Grounds, who: Who): Promise<Insider> {
	const { ways, token, openSandbox } = grounds;
	const ask = (method: string, path: string, body?: object) => request(ways[0], token, { method, path, body });
	const create = async (argv: readonly string[]) =>
		String((await ask("POST", "/v1/sessions", { argv, mode: "pipe" })).id);
	const session = await create(["sh", "-c", "head -c 8000000 /dev/zero; exec cat"]);
	const other = await create(["cat"]);
	for (let end = 0; end < 8_000_000; )
		end = ((await ask("GET", `/v1/sessions/${session}`)) as { offsets: { end: number } }).offsets.end;
	const askSandbox = (method: string, path: string, body?: object) =>
		request(openSandbox.address, openSandbox.token, { method, path: `${openSandbox.prefix}${path}`, body });
	const pty = String((await askSandbox("POST", "/pty", {})).session_id);
	const holder = await hold(openSandbox, pty);
	const workspace = `/v1/workspaces/${multica.workspace}`;
	await ask("PUT", workspace, { roots: ["/"] });
	await ask("PUT", `${workspace}/tasks/${multica.task}`, { workDir: "/", issueKey: multica.issue });
	const echo = await TestSocket.open("http://localhost", other, {}, { token, dial: () => dial(ways[0]) });
	const list = async (way: Address) =>
		(await request(way, token, { method: "GET", path: "/v1/sessions" })).sessions as { id: string; pid: number }[];
	const scopes = scopesOf(who, session);
	return {
		target: {
			session,
			pty,
			token: scopes ? String((await ask("POST", "/v1/tokens", { scopes })).token) : (openSandbox.token ?? ""),
		},
		keepers: await Promise.all((await list(ways[0])).map(({ pid }) => keeperOf(pid))),
		questions: ways.map((way) => () => list(way)),
		async echo() {
			const typed = echo.output.byteLength;
			echo.type(typed, "k");
			await echo.until("an echo", () => echo.output.byteLength > typed);
		},
		async leave() {
			echo.cut();
			holder.terminate();
			for (const id of [session, other]) await ask("DELETE", `/v1/sessions/${id}`);
			await askSandbox("DELETE", `/pty/${pty}`);
			await ask("DELETE", `${workspace}?force=1`);
		},
	};
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

/** The process that has a program's session: one of those above it. */
async function keeperOf(pid: number): Promise<number> {
	for (let above = pid; above > 1; ) {
		if ((await readFile(`/proc/${above}/cmdline`, "utf8")).includes("keeper/main.js")) return above;
		above = Number(/^PPid:\s+(\d+)$/m.exec(await readFile(`/proc/${above}/status`, "utf8"))?.[1]);
	}
	throw new Error(`process ${pid} has no keeper`);
}
