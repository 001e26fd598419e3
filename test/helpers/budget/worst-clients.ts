/** The worst that each kind of caller was found to do on each listener and front, and what that costs those who are in. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { credentials, type Insider, multica, type Target, type Who } from "./insiders.ts";
import type { Place, Site } from "./sites.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
/** More than any buffer between us and the server. */
const CHUNK_BYTES = 64 * KiB;
const ATTACHMENTS = 100;

/** What is said on a connection first, and then again and again, or so many times. */
type Speech = { readonly first: Buffer | string; readonly again?: Buffer | string; readonly times?: number };

/** What somebody does. */
type Deed = {
	readonly who: Who;
	readonly does: string;
	readonly connections: number;
	/** Whether it is among the worst, which even a short look at a listener tries. */
	readonly isWorst?: true;
	says(target: Target): Speech;
};

export type Trial = Deed & {
	readonly at: Place;
	/** Whether it belongs to a short look. */
	readonly isBrief: boolean;
};

export type Costs = {
	/** The most that was seen, in MiB. */
	readonly server: number;
	readonly keepers: number;
	/** The longest that those who are in waited for an answer on a new connection: for the operator, the list of sessions. */
	readonly listMs: number;
	/** Of another session's echo. */
	readonly echoP99Ms: number;
	readonly echoes: number;
};

function get(path: string, token?: string, more = ""): string {
	const lines = Object.entries(credentials(token)).map(([name, value]) => `${name}: ${value}\r\n`);
	return `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${lines.join("")}${more}\r\n`;
}

function post(path: string, token?: string): Buffer {
	const head = get(path, token, `content-type: application/json\r\ncontent-length: ${MiB}\r\n`);
	// All but the last byte.
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

const opcodes = { text: 1, binary: 2, ping: 9 } as const;

/** As a client must: masked, here with zeros. */
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

/** A method that is not there: exec-server repeats its name in the answer. */
const longRequest = frame("text", JSON.stringify({ id: 1, method: "m".repeat(60 * KiB), params: {} }));
/** As long as a message may be for Codex, but for its end. */
const UNFINISHED_BYTES = 60 * MiB;

const asksForOutput: Omit<Deed, "who"> = {
	does: "asks for output without reading it",
	connections: 100,
	isWorst: true,
	says: ({ session, token }) => ({
		first: "",
		again: many(get(`/v1/sessions/${session}/output?since=0&max=4194304`, token)),
	}),
};

const issueTerminal = `/ws/issues/${multica.issue}/terminal?workspace_id=${multica.workspace}`;
const typing = { session_id: "", data_b64: Buffer.from("yes\n").toString("base64") };

/** With what `hawser serve` has on one port: the native API, OpenSandbox and Multica's terminals. */
const atServe: readonly Deed[] = [
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
		who: "nobody",
		does: "waits at the door of a Multica terminal",
		connections: 1_000,
		says: () => ({ first: upgrade(issueTerminal) }),
	},
	{
		who: "nobody",
		does: "says more than a token at the door of a Multica terminal",
		connections: 100,
		isWorst: true,
		says: () => ({
			first: upgrade(issueTerminal),
			again: messages({ type: "auth", payload: { token: "t".repeat(8 * KiB) } }),
		}),
	},
	{
		who: "viewer",
		does: "asks Multica's socket for answers without reading",
		connections: ATTACHMENTS,
		says: ({ token }) => ({
			first: upgrade("/multica/terminal", token),
			again: messages({ type: "auth", payload: { token: "t" } }),
		}),
	},
	{
		who: "viewer",
		does: "names Multica tasks that are not there, without reading",
		connections: 40,
		says: ({ token }) => ({
			first: upgrade("/multica/terminal", token),
			again: messages({ type: "terminal.open", payload: { task_id: "t".repeat(200) } }),
		}),
	},
	{
		who: "manager",
		does: "opens a Multica terminal, has it print without end, types and does not read",
		// Each is a program that takes a processor to itself, which is its manager's right, and no fault of the server's.
		connections: 2,
		isWorst: true,
		says: ({ token }) => ({
			first: upgrade(issueTerminal, undefined, `cookie: multica_auth=${token}\r\n`),
			again: messages({ type: "terminal.data", payload: typing }),
		}),
	},
];

/** Codex's fronts there; the same is tried on listeners of their own. */
const codexAtServe: readonly Deed[] = [
	...codexDeeds("exec-server", "manager", "/codex/exec-server"),
	...codexDeeds("app-server", "manager", "/codex/app-server"),
];

function codexDeeds(name: string, who: Who, path: string): readonly Deed[] {
	const opening = ({ token }: Target) => upgrade(path, token);
	return [
		{
			who,
			does: `talks nonsense to Codex's ${name} without reading`,
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
			does: `asks Codex's ${name} what it does not know, at length, without reading`,
			connections: 40,
			isWorst: true,
			says: (target) => ({ first: opening(target), again: longRequest }),
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

/** By programs of the operator's own account, which the server trusts and which may be written badly. */
const atSocket: readonly Deed[] = [
	{
		who: "operator",
		does: "connects and says nothing",
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

/** What anybody can do who reaches a port, whatever it serves; `path` is one that is answered. */
function strangersAt(path: string): readonly Deed[] {
	return [
		{
			who: "nobody",
			does: `asks for ${path} without reading the answer`,
			connections: 20,
			says: () => ({ first: "", again: many(get(path)) }),
		},
		{ who: "nobody", does: "connects and says nothing", connections: 5_000, says: () => ({ first: "" }) },
		{ who: "nobody", does: "sends bodies that do not end", connections: 300, says: () => ({ first: post(path) }) },
	];
}

/** What who may use OpenSandbox can do. */
const execdDeeds = (who: Who): readonly Deed[] => [
	{
		who,
		does: "takes a PTY again and again, and asks for answers without reading",
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
	{
		who,
		does: "runs commands whose output it does not read",
		connections: 20,
		// Five times what fits on the way. Without an end, twenty would try the machine's processors once they may go on.
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
	"execd without a token": [...strangersAt("/ping"), ...execdDeeds("nobody")],
	"exec-server": [...strangersAt("/readyz"), ...codexDeeds("exec-server", "nobody", "/")],
	"app-server": [...strangersAt("/readyz"), ...codexDeeds("app-server", "nobody", "/")],
};

/** On the first listener nearly everything is tried even in a short look: the others have much in common with it. */
const isBrief = (at: Place, deed: Deed): boolean =>
	!codexAtServe.includes(deed) && (at === "serve" || deed.isWorst === true);

export const trials: readonly Trial[] = (Object.keys(deeds) as Place[]).flatMap((at) =>
	deeds[at].map((deed) => ({ ...deed, at, isBrief: isBrief(at, deed) })),
);

/** Lets somebody do their worst for a time; the program that does it is in `root`, the repository. */
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
		// On a busy machine all the time could be over before that; it would have read nothing of what it is to say.
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

/** Asks, types keys and looks at the memory of all processes, over and over. */
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

/** Between two looks; keys in each. */
const BETWEEN_MS = 50;
const KEYS = 5;

async function timed(act: () => Promise<unknown>): Promise<number> {
	const begun = performance.now();
	await act();
	return performance.now() - begun;
}

/** Nothing, of a process that has gone: that the server is there is known by its answers. */
async function residentMiB(pid: number): Promise<number> {
	const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
	return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024;
}
