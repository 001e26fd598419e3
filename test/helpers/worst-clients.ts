/** The worst that each kind of caller was found to do on each front, and what that costs those who are in. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { TestSocket } from "../fronts/native/test-socket.ts";

const MiB = 1024 * 1024;
/** More than any buffer between us and the server. */
const CHUNK_BYTES = 64 * 1024;
const ATTACHMENTS = 100;

/** The server that they are tried on. */
export type Site = { readonly url: string; readonly token: string; readonly pid: number };

/** What somebody does: first, and again and again. `session` is one with some megabytes of output, `pty` an OpenSandbox one. */
export type Trial = {
	readonly who: "nobody" | "viewer" | "controller" | "manager";
	readonly does: string;
	readonly connections: number;
	says(target: Target): { readonly first: Buffer | string; readonly again?: Buffer | string };
};

type Target = { readonly session: string; readonly pty: string; readonly token: string };

export type Costs = {
	/** The most that was seen, in MiB. */
	readonly server: number;
	readonly keepers: number;
	/** The longest that the operator waited for the list of sessions. */
	readonly listMs: number;
	/** Of another session's echo. */
	readonly echoP99Ms: number;
	readonly echoes: number;
};

function get(path: string, token?: string, more = ""): string {
	const authorization =
		token === undefined ? "" : `authorization: Bearer ${token}\r\nx-execd-access-token: ${token}\r\n`;
	return `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${authorization}${more}\r\n`;
}

function post(path: string, token?: string): Buffer {
	const head = get(path, token, `content-type: application/json\r\ncontent-length: ${MiB}\r\n`);
	// All but the last byte.
	return Buffer.concat([Buffer.from(head.replace("GET", "POST")), Buffer.alloc(MiB - 1, " ")]);
}

function upgrade(path: string, token: string, subprotocol?: string): string {
	const protocol = subprotocol === undefined ? "" : `sec-websocket-protocol: ${subprotocol}\r\n`;
	const key = "sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
	return get(path, token, `connection: upgrade\r\nupgrade: websocket\r\n${key}${protocol}`);
}

const opcodes = { text: 1, binary: 2, ping: 9 } as const;

/** As a client must: masked, here with zeros. */
function frame(kind: keyof typeof opcodes, payload: Buffer | string): Buffer {
	const bytes = Buffer.from(payload as string);
	return Buffer.concat([Buffer.from([0x80 | opcodes[kind], 0x80 | bytes.byteLength, 0, 0, 0, 0]), bytes]);
}

function many(one: Buffer | string): Buffer {
	const bytes = Buffer.from(one as string);
	return Buffer.alloc(bytes.byteLength * Math.ceil(CHUNK_BYTES / bytes.byteLength), bytes);
}

const attach = ({ session, token }: Target, role: string): Buffer =>
	Buffer.concat([
		Buffer.from(upgrade(`/v1/sessions/${session}/attach`, token, "hawser.v1")),
		frame("text", JSON.stringify({ type: "hello", since: 0, role, flow: "lossless" })),
	]);
const pings = many(frame("ping", "p".repeat(125)));
const messages = (message: object) => many(frame("text", JSON.stringify(message)));

export const trials: readonly Trial[] = [
	{
		who: "nobody",
		does: "asks for the description of the API without reading it",
		connections: 20,
		says: () => ({ first: "", again: many(get("/openapi.json")) }),
	},
	{ who: "nobody", does: "connects and says nothing", connections: 5_000, says: () => ({ first: "" }) },
	{
		who: "nobody",
		does: "sends bodies that do not end",
		connections: 300,
		says: () => ({ first: post("/nowhere") }),
	},
	{
		who: "viewer",
		does: "asks for output without reading it",
		connections: 100,
		says: ({ session, token }) => ({
			first: "",
			again: many(get(`/v1/sessions/${session}/output?since=0&max=4194304`, token)),
		}),
	},
	{
		who: "viewer",
		does: "follows output as events without reading them",
		connections: ATTACHMENTS,
		says: ({ session, token }) => ({
			first: get(`/v1/sessions/${session}/output`, token, "accept: text/event-stream\r\n"),
		}),
	},
	{
		who: "viewer",
		does: "attaches and pings without reading",
		connections: ATTACHMENTS,
		says: (target) => ({ first: attach(target, "viewer"), again: pings }),
	},
	{
		who: "viewer",
		does: "attaches and asks for answers without reading",
		connections: ATTACHMENTS,
		says: (target) => ({ first: attach(target, "viewer"), again: messages({ type: "ping", nonce: "n".repeat(64) }) }),
	},
	{
		who: "viewer",
		does: "sends bodies that do not end",
		connections: 300,
		says: ({ session, token }) => ({ first: post(`/v1/sessions/${session}/input`, token) }),
	},
	{
		who: "viewer",
		does: "looks at a PTY of OpenSandbox and asks for answers without reading",
		connections: 40,
		says: ({ pty, token }) => ({
			first: upgrade(`/opensandbox/pty/${pty}/ws?mode=viewer`, token),
			again: messages({ type: "unknown" }),
		}),
	},
	{
		who: "controller",
		does: "attaches losslessly, types and does not read",
		connections: ATTACHMENTS,
		says: (target) => ({ first: attach(target, "writer"), again: messages({ type: "take", force: true }) }),
	},
	{
		who: "controller",
		does: "takes a PTY of OpenSandbox again and again, and asks for answers without reading",
		connections: 20,
		says: ({ pty, token }) => ({
			first: upgrade(`/opensandbox/pty/${pty}/ws?takeover=1`, token),
			again: messages({ type: "ping" }),
		}),
	},
	{
		who: "manager",
		does: "talks nonsense to Codex's exec-server without reading",
		connections: 20,
		says: ({ token }) => ({ first: upgrade("/codex/exec-server", token), again: many(frame("text", "{")) }),
	},
	{
		who: "manager",
		does: "pings Codex's exec-server without reading",
		connections: 100,
		says: ({ token }) => ({ first: upgrade("/codex/exec-server", token), again: pings }),
	},
];

/** Lets somebody do their worst for a time; `program` is the fixture that does it. */
export async function costsOf(site: Site, trial: Trial, ms: number, program: string): Promise<Costs> {
	const operator = new Operator(site);
	const session = await operator.create(["sh", "-c", "head -c 8000000 /dev/zero; exec cat"]);
	const other = await operator.create(["cat"]);
	await operator.untilPrinted(session, 8_000_000);
	const token = await operator.token(scopesOf(trial.who, session));
	const pty = String((await operator.ask("POST", "/opensandbox/pty", {})).session_id);
	const echo = await TestSocket.open(site.url, other, {}, { token: site.token });
	const holder = await operator.hold(pty);
	const { first, again = "" } = trial.says({ session, pty, token });
	const input = { port: Number(new URL(site.url).port), connections: trial.connections };
	const child = spawn(process.execPath, [program], { stdio: ["pipe", "inherit", "inherit"] });
	const ended = once(child, "exit");
	child.stdin.end(JSON.stringify({ ...input, first: base64(first), again: base64(again) }));
	try {
		return await observed({ site, operator, echo, ms });
	} finally {
		child.kill("SIGKILL");
		await ended;
		echo.cut();
		holder.cut();
		for (const id of [session, other]) await operator.ask("DELETE", `/v1/sessions/${id}`);
		await operator.ask("DELETE", `/opensandbox/pty/${pty}`);
	}
}

function base64(said: Buffer | string): string {
	return Buffer.from(said as string).toString("base64");
}

function scopesOf(who: Trial["who"], session: string): string[] {
	if (who === "manager") return ["workspace:default:manage"];
	if (who === "controller") return [`session:${session}:control`, "workspace:default:operate"];
	return [`session:${session}:view`, "workspace:default:read"];
}

type Observing = { readonly site: Site; readonly operator: Operator; readonly echo: TestSocket; readonly ms: number };

/** Asks for the list, types a key and looks at the memory of all processes, over and over. */
async function observed({ site, operator, echo, ms }: Observing): Promise<Costs> {
	const keepers = await operator.keepers();
	let [server, mostOfKeepers, listMs] = [0, 0, 0];
	const echoes: number[] = [];
	const end = performance.now() + ms;
	while (performance.now() < end) {
		listMs = Math.max(listMs, await timed(() => operator.list()));
		for (let key = 0; key < KEYS; key++) {
			const typed = echo.output.byteLength;
			echoes.push(
				await timed(async () => {
					echo.type(typed, "k");
					await echo.until("an echo", () => echo.output.byteLength > typed);
				}),
			);
		}
		server = Math.max(server, await residentMiB(site.pid));
		for (const pid of keepers) mostOfKeepers = Math.max(mostOfKeepers, await residentMiB(pid));
		await sleep(BETWEEN_MS);
	}
	const sorted = echoes.sort((a, b) => a - b);
	const echoP99Ms = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? Number.POSITIVE_INFINITY;
	return { server, keepers: mostOfKeepers, listMs, echoP99Ms, echoes: echoes.length };
}

/** Between two looks; keys in each. */
const BETWEEN_MS = 50;
const KEYS = 5;

async function timed(act: () => Promise<unknown>): Promise<number> {
	const begun = performance.now();
	await act();
	return performance.now() - begun;
}

async function residentMiB(pid: number): Promise<number> {
	const status = await readFile(`/proc/${pid}/status`, "utf8");
	return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

class Operator {
	readonly #site: Site;

	constructor(site: Site) {
		this.#site = site;
	}

	/** On a connection of its own. */
	ask(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
		const { url, token } = this.#site;
		const headers = {
			authorization: `Bearer ${token}`,
			"x-execd-access-token": token,
			...(body ? { "content-type": "application/json" } : {}),
		};
		return new Promise((resolve, reject) => {
			const asked = httpRequest(`${url}${path}`, { method, headers, agent: false }, async (response) => {
				let text = "";
				for await (const chunk of response) text += chunk;
				if ((response.statusCode ?? 0) >= 300) reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`));
				else resolve(text === "" ? {} : JSON.parse(text));
			});
			asked.on("error", reject).end(body && JSON.stringify(body));
		});
	}

	async list(): Promise<readonly { readonly id: string; readonly pid: number }[]> {
		return (await this.ask("GET", "/v1/sessions")).sessions as { id: string; pid: number }[];
	}

	async create(argv: readonly string[]): Promise<string> {
		return String((await this.ask("POST", "/v1/sessions", { argv, mode: "pipe" })).id);
	}

	async token(scopes: readonly string[]): Promise<string> {
		return String((await this.ask("POST", "/v1/tokens", { scopes })).token);
	}

	async untilPrinted(id: string, bytes: number): Promise<void> {
		for (;;) {
			const { offsets } = (await this.ask("GET", `/v1/sessions/${id}`)) as { offsets: { end: number } };
			if (offsets.end >= bytes) return;
		}
	}

	/** Starts the shell of a PTY, and stays there unless it is sent away. */
	async hold(pty: string): Promise<{ cut(): void }> {
		const { url, token } = this.#site;
		const socket = new WebSocket(`${url.replace(/^http/, "ws")}/opensandbox/pty/${pty}/ws`, {
			headers: { "x-execd-access-token": token },
		});
		socket.on("error", () => {});
		await once(socket, "message");
		return { cut: () => socket.terminate() };
	}

	async keepers(): Promise<number[]> {
		return Promise.all((await this.list()).map(({ pid }) => keeperOf(pid)));
	}
}

/** The process that has a program's session: one of those above it. */
async function keeperOf(pid: number): Promise<number> {
	for (let above = pid; above > 1; ) {
		if ((await readFile(`/proc/${above}/cmdline`, "utf8")).includes("keeper/main.js")) return above;
		above = Number(/^PPid:\s+(\d+)$/m.exec(await readFile(`/proc/${above}/status`, "utf8"))?.[1]);
	}
	throw new Error(`process ${pid} has no keeper`);
}
