/**
 * The most expensive known behavior of each kind of caller on each listener and front, and what it costs legitimate
 * clients.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { credentials, type Insider, multica, type Target, type Who } from "./insiders.ts";
import type { Place, Site } from "./sites.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
/** More than any buffer between the tests and the server. */
const CHUNK_BYTES = 64 * KiB;
const ATTACHMENTS = 100;

/** The bytes sent first on a connection, and those sent repeatedly or this many times. */
type Speech = { readonly first: Buffer | string; readonly again?: Buffer | string; readonly times?: number };

/** One attack. */
type Deed = {
	readonly who: Who;
	readonly does: string;
	readonly connections: number;
	/** Whether it is among the worst, so that even a brief trial includes it. */
	readonly isWorst?: true;
	/** Whether it resembles another one, so that a brief trial omits it. */
	readonly isVariant?: true;
	says(target: Target): Speech;
};

export type Trial = Deed & {
	readonly at: Place;
	/** Whether a brief trial includes it. */
	readonly isBrief: boolean;
};

export type Costs = {
	/** The highest value seen, in MiB. */
	readonly server: number;
	readonly keepers: number;
	/**
	 * The longest time a legitimate client waited for an answer on a new connection. For the operator, that is a list
	 * of sessions.
	 */
	readonly listMs: number;
	/** The echo of another session. */
	readonly echoP99Ms: number;
	readonly echoes: number;
};

function get(path: string, token?: string, more = ""): string {
	const lines = Object.entries(credentials(token)).map(([name, value]) => `${name}: ${value}\r\n`);
	return `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${lines.join("")}${more}\r\n`;
}

function post(path: string, token?: string): Buffer {
	const head = get(path, token, `content-type: application/json\r\ncontent-length: ${MiB}\r\n`);
	// All of it except the last byte.
	return Buffer.concat([Buffer.from(head.replace("GET", "POST")), Buffer.alloc(MiB - 1, " ")]);
}

function whole(path: string, token: string, body: object): string {
	const text = JSON.stringify(body);
	return (
		get(path, token, `content-type: application/json\r\ncontent-length: ${text.length}\r\n`).replace("GET", "POST") +
		text
	);
}

function upgrade(path: string, token?: string, more = ""): string {
	const key = "sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
	return get(path, token, `connection: upgrade\r\nupgrade: websocket\r\n${key}${more}`);
}

const namesOf = (count: number) =>
	Buffer.from(
		`{${Array.from({ length: count }, (_, index) => `"${index.toString(36).padStart(4, "0")}":1`).join(",")}}`,
	);
/** About as many members as fit into a body of a megabyte. Its route knows none of them. */
const manyNames = namesOf(100_000);
/** As many as fit into a body that is read of every caller. */
const fewNames = namesOf(1_200);
/** Just below the limit on members. */
const allNames = namesOf(16_000);
/** Just below the limit on values, all of a wrong type. */
const manyValues = Buffer.from(`{"argv":[${"1,".repeat(262_000)}1]}`);
const deep = Buffer.from("[".repeat(1_000_000));

/** A request with this body, repeated as soon as it is answered. */
function posts(path: string, body: Buffer, token?: string): Speech {
	const head = get(path, token, `content-type: application/json\r\ncontent-length: ${body.byteLength}\r\n`);
	return { first: "", again: Buffer.concat([Buffer.from(head.replace("GET", "POST")), body]) };
}

/** Bodies that are expensive to parse and check, on routes open to everyone. */
function costlyBodies(
	who: Who,
	paths: (target: Target) => string,
	token?: (target: Target) => string,
): readonly Deed[] {
	const at = (body: Buffer) => (target: Target) => posts(paths(target), body, token?.(target));
	const path = paths({ session: ":id", pty: ":id", token: "" });
	return [
		{ who, does: `posts 100,000 names to ${path}`, connections: 8, isWorst: true, says: at(manyNames) },
		{ who, does: `posts 16,000 names to ${path}`, connections: 8, isVariant: true, says: at(allNames) },
		{ who, does: `posts 1,200 names to ${path}`, connections: 100, isVariant: true, says: at(fewNames) },
		{ who, does: `posts 262,000 wrong values to ${path}`, connections: 8, isVariant: true, says: at(manyValues) },
		{ who, does: `posts a million open lists to ${path}`, connections: 8, isVariant: true, says: at(deep) },
	];
}

const opcodes = { text: 1, binary: 2, ping: 9 } as const;

/** Masked, as a client must, here with zeros. */
function frame(kind: keyof typeof opcodes, payload: Buffer | string): Buffer {
	const bytes = Buffer.from(payload as string);
	return Buffer.concat([frameHead(kind, bytes.byteLength), bytes]);
}

function frameHead(kind: keyof typeof opcodes, length: number): Buffer {
	const isShort = length < 126;
	const head = Buffer.alloc(isShort ? 6 : 14);
	head.writeUInt8(0x80 | opcodes[kind], 0);
	head.writeUInt8(0x80 | (isShort ? length : 127), 1);
	if (!isShort) head.writeBigUInt64BE(BigInt(length), 2);
	return head;
}

function many(one: Buffer | string): Buffer {
	const bytes = Buffer.from(one as string);
	return Buffer.alloc(bytes.byteLength * Math.ceil(CHUNK_BYTES / bytes.byteLength), bytes);
}

const attach = ({ session, token }: Target, role: string): Buffer =>
	Buffer.concat([
		Buffer.from(upgrade(`/v1/sessions/${session}/attach`, token, "sec-websocket-protocol: hawser.v1\r\n")),
		frame("text", JSON.stringify({ type: "hello", since: 0, role, flow: "lossless" })),
	]);
const pings = many(frame("ping", "p".repeat(125)));
const messages = (message: object) => many(frame("text", JSON.stringify(message)));

/** An unknown method: exec-server repeats its name in the answer. */
const longRequest = frame("text", JSON.stringify({ id: 1, method: "m".repeat(60 * KiB), params: {} }));
/** A message of the largest size that Codex permits, without its end. */
const UNFINISHED_BYTES = 60 * MiB;

const asksForOutput: Omit<Deed, "who"> = {
	does: "requests output without reading it",
	connections: 100,
	isWorst: true,
	says: ({ session, token }) => ({
		first: "",
		again: many(get(`/v1/sessions/${session}/output?since=0&max=4194304`, token)),
	}),
};

const tokenOf = ({ token }: Target) => token;

const issueTerminal = `/ws/issues/${multica.issue}/terminal?workspace_id=${multica.workspace}`;
const typing = { session_id: "", data_b64: Buffer.from("yes\n").toString("base64") };

/** The services of `hawser serve` on one port: the native API, OpenSandbox and Multica's terminals. */
const atServe: readonly Deed[] = [
	{
		who: "stranger",
		does: "requests the API description without reading it",
		connections: 20,
		says: () => ({ first: "", again: many(get("/openapi.json")) }),
	},
	{ who: "stranger", does: "connects and sends nothing", connections: 5_000, says: () => ({ first: "" }) },
	{
		who: "stranger",
		does: "sends bodies that do not end",
		connections: 300,
		says: () => ({ first: post("/nowhere") }),
	},
	...costlyBodies("stranger", () => "/v1/signin"),
	...costlyBodies("stranger", () => "/nowhere"),
	...["sessions", "tokens", "tickets"].flatMap((name) => costlyBodies("viewer", () => `/v1/${name}`, tokenOf)),
	...costlyBodies("viewer", () => "/mcp", tokenOf),
	...costlyBodies("viewer", () => "/opensandbox/command", tokenOf),
	...costlyBodies("controller", ({ session }) => `/v1/sessions/${session}/send`, tokenOf),
	...costlyBodies("manager", () => "/v1/sessions", tokenOf),
	{
		who: "viewer",
		does: "attaches and sends messages with 100,000 names",
		connections: 8,
		isWorst: true,
		says: (target) => ({ first: attach(target, "viewer"), again: frame("text", manyNames) }),
	},
	{
		who: "viewer",
		does: "views a PTY of OpenSandbox and sends messages with 100,000 names",
		connections: 8,
		says: ({ pty, token }) => ({
			first: upgrade(`/opensandbox/pty/${pty}/ws?mode=viewer`, token),
			again: frame("text", manyNames),
		}),
	},
	{
		who: "manager",
		does: "sends Multica's socket messages with 100,000 names",
		connections: 8,
		says: ({ token }) => ({
			first: upgrade(issueTerminal, undefined, `cookie: multica_auth=${token}\r\n`),
			again: frame("text", manyNames),
		}),
	},
	{ who: "viewer", ...asksForOutput },
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
		isWorst: true,
		says: (target) => ({ first: attach(target, "viewer"), again: pings }),
	},
	{
		who: "viewer",
		does: "attaches and sends requests without reading",
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
		does: "views a PTY of OpenSandbox and sends requests without reading",
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
		does: "takes over a PTY of OpenSandbox repeatedly, and sends requests without reading",
		connections: 20,
		says: ({ pty, token }) => ({
			first: upgrade(`/opensandbox/pty/${pty}/ws?takeover=1`, token),
			again: messages({ type: "ping" }),
		}),
	},
	{
		who: "stranger",
		does: "connects to a Multica terminal without authenticating",
		connections: 1_000,
		says: () => ({ first: upgrade(issueTerminal) }),
	},
	{
		who: "stranger",
		does: "sends more than a token before authenticating to a Multica terminal",
		connections: 100,
		isWorst: true,
		says: () => ({
			first: upgrade(issueTerminal),
			again: messages({ type: "auth", payload: { token: "t".repeat(8 * KiB) } }),
		}),
	},
	{
		who: "viewer",
		does: "sends requests to Multica's socket without reading",
		connections: ATTACHMENTS,
		says: ({ token }) => ({
			first: upgrade("/multica/terminal", token),
			again: messages({ type: "auth", payload: { token: "t" } }),
		}),
	},
	{
		who: "viewer",
		does: "names missing Multica tasks without reading",
		connections: 40,
		says: ({ token }) => ({
			first: upgrade("/multica/terminal", token),
			again: messages({ type: "terminal.open", payload: { task_id: "t".repeat(200) } }),
		}),
	},
	{
		who: "manager",
		does: "opens a Multica terminal, has it print without end, types and does not read",
		// Each is a program that uses a whole processor. A manager may do that, and it is no fault of the server.
		connections: 2,
		isWorst: true,
		says: ({ token }) => ({
			first: upgrade(issueTerminal, undefined, `cookie: multica_auth=${token}\r\n`),
			again: messages({ type: "terminal.data", payload: typing }),
		}),
	},
];

/** Codex's fronts there. The same trials run on listeners of their own. */
const codexAtServe: readonly Deed[] = [
	...codexDeeds("exec-server", "manager", "/codex/exec-server"),
	...codexDeeds("app-server", "manager", "/codex/app-server"),
];

function codexDeeds(name: string, who: Who, path: string): readonly Deed[] {
	const opening = ({ token }: Target) => upgrade(path, token);
	return [
		{
			who,
			does: `sends invalid messages to Codex's ${name} without reading`,
			connections: 20,
			isWorst: true,
			says: (target) => ({ first: opening(target), again: many(frame("text", "{")) }),
		},
		{
			who,
			does: `pings Codex's ${name} without reading`,
			connections: 100,
			says: (target) => ({ first: opening(target), again: pings }),
		},
		{
			who,
			does: `sends Codex's ${name} long unknown methods without reading`,
			connections: 40,
			isWorst: true,
			says: (target) => ({ first: opening(target), again: longRequest }),
		},
		{
			who,
			does: `sends Codex's ${name} messages with 100,000 names`,
			connections: 8,
			isWorst: true,
			says: (target) => ({ first: opening(target), again: frame("text", manyNames) }),
		},
		{
			who,
			does: `sends Codex's ${name} messages that do not end`,
			connections: 40,
			isWorst: true,
			says: (target) => ({
				first: Buffer.concat([Buffer.from(opening(target)), frameHead("text", UNFINISHED_BYTES + 1)]),
				again: Buffer.alloc(CHUNK_BYTES),
				times: UNFINISHED_BYTES / CHUNK_BYTES,
			}),
		},
	];
}

/** Badly written programs of the operator's own account, which the server trusts. */
const atSocket: readonly Deed[] = [
	{
		who: "operator",
		does: "connects and sends nothing",
		connections: 3_000,
		isWorst: true,
		says: () => ({ first: "" }),
	},
	{ who: "operator", ...asksForOutput },
	{
		who: "operator",
		does: "attaches losslessly and pings without reading",
		connections: ATTACHMENTS,
		says: (target) => ({ first: attach(target, "writer"), again: pings }),
	},
	{
		who: "operator",
		does: "sends bodies that do not end",
		connections: 300,
		says: ({ session, token }) => ({ first: post(`/v1/sessions/${session}/input`, token) }),
	},
];

/** Attacks by any client that reaches a port, whatever it serves. `path` is one that is answered. */
function strangersAt(path: string): readonly Deed[] {
	return [
		{
			who: "stranger",
			does: `requests ${path} without reading the answer`,
			connections: 20,
			says: () => ({ first: "", again: many(get(path)) }),
		},
		...costlyBodies("stranger", () => path),
		...costlyBodies("stranger", () => "/nowhere"),
		{ who: "stranger", does: "connects and sends nothing", connections: 5_000, says: () => ({ first: "" }) },
		{ who: "stranger", does: "sends bodies that do not end", connections: 300, says: () => ({ first: post(path) }) },
	];
}

/** Attacks by a client with access to OpenSandbox. */
const execdDeeds = (who: Who): readonly Deed[] => [
	{
		who,
		does: "takes over a PTY repeatedly, and sends requests without reading",
		connections: 20,
		says: ({ pty, token }) => ({
			first: upgrade(`/pty/${pty}/ws?takeover=1`, token),
			again: messages({ type: "ping" }),
		}),
	},
	{
		who,
		does: "sends commands that do not end",
		connections: 300,
		isWorst: true,
		says: ({ token }) => ({ first: post("/command", token) }),
	},
	...costlyBodies(who, () => "/command", tokenOf),
	...costlyBodies(who, () => "/files/mv", tokenOf),
	{
		who,
		does: "runs commands whose output it does not read",
		connections: 20,
		// Five times the size of the buffers. Without a limit, twenty of these would load the processors once they may
		// continue.
		says: ({ token }) => ({ first: whole("/command", token, { command: "head -c 8M /dev/zero; exec sleep 60" }) }),
	},
	{
		who,
		does: "runs commands that print without end, and does not read",
		connections: 2,
		says: ({ token }) => ({ first: whole("/command", token, { command: "exec cat /dev/zero" }) }),
	},
];

const deeds: Readonly<Record<Place, readonly Deed[]>> = {
	serve: [...atServe, ...codexAtServe],
	"serve over TLS": [...atServe, ...codexAtServe],
	"the socket of serve": atSocket,
	execd: [...strangersAt("/ping"), ...execdDeeds("manager")],
	"execd without a token": [...strangersAt("/ping"), ...execdDeeds("stranger")],
	"exec-server": [...strangersAt("/readyz"), ...codexDeeds("exec-server", "stranger", "/")],
	"app-server": [...strangersAt("/readyz"), ...codexDeeds("app-server", "stranger", "/")],
};

/**
 * Nearly all trials run on the first listener even when brief. The other listeners share most of their code with it.
 */
const isBrief = (at: Place, deed: Deed): boolean =>
	!codexAtServe.includes(deed) && !deed.isVariant && (at === "serve" || deed.isWorst === true);

export const trials: readonly Trial[] = (Object.keys(deeds) as Place[]).flatMap((at) =>
	deeds[at].map((deed) => ({ ...deed, at, isBrief: isBrief(at, deed) })),
);

/** Runs one attack for a time. `root` is the repository, which has the attacking program. */
export async function costsOf(site: Site, trial: Trial, ms: number, root: URL): Promise<Costs> {
	const insider = await site.enter(trial.who);
	const { first, again = "", times } = trial.says(insider.target);
	const program = fileURLToPath(new URL("test/fixtures/worst-client.js", root));
	const child = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "inherit"] });
	const ended = once(child, "exit");
	const begun = once(child.stdout, "data");
	const { connections } = trial;
	const speech = { first: base64(first), again: base64(again), times };
	child.stdin.end(JSON.stringify({ ...speech, address: site.address, connections }));
	try {
		// On a busy machine the time could pass before the program has read its instructions.
		await Promise.race([begun, ended.then(() => Promise.reject(new Error("the worst client has ended")))]);
		return await observed(site, insider, ms);
	} finally {
		child.kill("SIGKILL");
		await ended;
		await insider.leave();
	}
}

function base64(said: Buffer | string): string {
	return Buffer.from(said as string).toString("base64");
}

/** Sends requests, types keys and samples the memory of all processes, repeatedly. */
async function observed({ pid }: Site, insider: Insider, ms: number): Promise<Costs> {
	let [server, keepers, listMs] = [0, 0, 0];
	const echoes: number[] = [];
	const end = performance.now() + ms;
	while (performance.now() < end) {
		for (const question of insider.questions) listMs = Math.max(listMs, await timed(question));
		for (let key = 0; key < KEYS; key++) echoes.push(await timed(() => insider.echo()));
		server = Math.max(server, await residentMiB(pid));
		for (const keeper of insider.keepers) keepers = Math.max(keepers, await residentMiB(keeper));
		await sleep(BETWEEN_MS);
	}
	const sorted = echoes.sort((a, b) => a - b);
	const echoP99Ms = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? Number.POSITIVE_INFINITY;
	return { server, keepers, listMs, echoP99Ms, echoes: echoes.length };
}

/** Between two samples, and keys per sample. */
const BETWEEN_MS = 50;
const KEYS = 5;

async function timed(act: () => Promise<unknown>): Promise<number> {
	const begun = performance.now();
	await act();
	return performance.now() - begun;
}

/** Zero for a process that has exited. Answers prove that the server is running. */
async function residentMiB(pid: number): Promise<number> {
	const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
	return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024;
}
