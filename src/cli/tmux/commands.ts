/** The tmux commands that scripts and harnesses use, on sessions. */

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { buffer } from "node:stream/consumers";
import { type Client, type CreateSession, HawserError, type LoadedSession, offsetsOf } from "../../client/index.ts";
import { pairs } from "../args/values.ts";
import { callerEnvironment } from "../connect/caller-environment.ts";
import { cliPath } from "../connect/start-server.ts";
import { UsageError } from "../print/errors.ts";
import { print } from "../print/output.ts";
import { Buffers } from "./buffers.ts";
import { capture } from "./capture.ts";
import { Channel } from "./channels.ts";
import { type Flags, lastOf, parseFlags } from "./flags.ts";
import { expand, FormatTarget } from "./formats.ts";
import { byteOfHex, bytesOfKey } from "./key-names.ts";
import { nameOf, SOCKET, type TargetSession, type TmuxSessions } from "./targets.ts";

type TmuxContext = {
	readonly sessions: TmuxSessions;
	/** A private directory shared by all commands of one socket. */
	readonly folder: string;
	/** Where a server writes its address file. */
	readonly stateDir: string;
	/** Attaches this terminal to a session. */
	readonly attach: (id: string) => Promise<void>;
};

type Run = (given: { flags: Flags; rest: readonly string[] }, context: TmuxContext) => Promise<void>;

type TmuxCommand = { readonly name: string; readonly alias?: string; readonly flags: string; readonly run: Run };

const DEFAULT_SIZE = { cols: 80, rows: 24 };
const SESSIONS_FORMAT = "#{session_name}: #{session_windows} windows (created #{t:session_created})";
const WINDOWS_FORMAT = "#{window_index}: #{window_name}* (#{window_panes} panes) [#{window_width}x#{window_height}]";
const PANES_FORMAT = "#{pane_index}: [#{pane_width}x#{pane_height}] #{pane_id} (active)";
/** Label of a pipe-pane session: the ID of the session whose output it reads. */
const PIPE_LABEL = "tmux.pipe";

const commands: readonly TmuxCommand[] = [
	{ name: "new-session", alias: "new", flags: "Ac:dDe:EF:n:Ps:t:x:Xy:", run: newSession },
	{
		name: "attach-session",
		alias: "attach",
		flags: "c:dEf:rt:x",
		run: async ({ flags }, { sessions, attach }) => attach((await sessions.find(lastOf(flags, "t"))).info.id),
	},
	{
		name: "has-session",
		alias: "has",
		flags: "t:",
		run: async ({ flags }, { sessions }) => void (await sessions.find(lastOf(flags, "t"))),
	},
	{
		name: "list-sessions",
		alias: "ls",
		flags: "F:f:",
		run: async ({ flags }, { sessions }) => printEach(await sessions.running(), lastOf(flags, "F") ?? SESSIONS_FORMAT),
	},
	{ name: "list-windows", alias: "lsw", flags: "F:f:at:", run: listing(WINDOWS_FORMAT) },
	{ name: "list-panes", alias: "lsp", flags: "F:f:ast:", run: listing(PANES_FORMAT) },
	{ name: "display-message", alias: "display", flags: "ac:d:INpt:F:v", run: displayMessage },
	{ name: "send-keys", alias: "send", flags: "c:FHKlMN:Rt:X", run: sendKeys },
	{ name: "capture-pane", alias: "capturep", flags: "ab:CeE:JNpPqS:Tt:", run: capturePane },
	{ name: "wait-for", alias: "wait", flags: "LSU", run: waitFor },
	{ name: "kill-session", flags: "aCt:", run: killSession },
	{
		name: "kill-server",
		flags: "",
		run: async (_, { sessions }) => killAll(await sessions.running()),
	},
	{ name: "resize-window", alias: "resizew", flags: "aADLRt:Ux:y:", run: resize },
	{ name: "resize-pane", alias: "resizep", flags: "DLMRTt:Ux:y:Z", run: resize },
	{ name: "set-buffer", alias: "setb", flags: "ab:t:n:w", run: setBuffer },
	{ name: "load-buffer", alias: "loadb", flags: "b:t:w", run: loadBuffer },
	{
		name: "show-buffer",
		alias: "showb",
		flags: "b:",
		run: async ({ flags }, context) => print(await buffersOf(context).get(lastOf(flags, "b"))),
	},
	{
		name: "delete-buffer",
		alias: "deleteb",
		flags: "b:",
		run: async ({ flags }, context) => buffersOf(context).remove(lastOf(flags, "b")),
	},
	{ name: "paste-buffer", alias: "pasteb", flags: "b:dprs:t:", run: pasteBuffer },
	{ name: "pipe-pane", alias: "pipep", flags: "IOot:", run: pipePane },
	// Ignored: there are no key bindings or status lines, and the scrollback has its own limits.
	{ name: "set-option", alias: "set", flags: "aFgopqst:uUw", run: nothing },
	{ name: "set-window-option", alias: "setw", flags: "aFgoqt:u", run: nothing },
	{ name: "start-server", alias: "start", flags: "", run: nothing },
];

/** Finds a command by name, alias or unique prefix. */
export async function runCommand([name = "", ...args]: readonly string[], context: TmuxContext): Promise<void> {
	const exact = commands.find((command) => command.name === name || command.alias === name);
	const similar = commands.filter((command) => command.name.startsWith(name));
	const command = exact ?? (similar.length === 1 ? similar[0] : undefined);
	if (!command) throw new UsageError(similar.length > 1 ? `ambiguous command: ${name}` : `unknown command: ${name}`);
	await command.run(parseFlags(args, command.flags, command.name), context);
}

async function nothing(): Promise<void> {}

async function newSession(
	{ flags, rest }: { flags: Flags; rest: readonly string[] },
	{ sessions, attach }: TmuxContext,
): Promise<void> {
	const name = lastOf(flags, "s");
	const { client, isLocal } = await sessions.startingClient();
	const same = (await sessions.all()).find(({ info }) => name !== undefined && nameOf(info) === name);
	if (same && !flags.has("A")) throw new UsageError(`duplicate session: ${name}`);
	if (same) return flags.has("d") ? undefined : attach(same.info.id);
	const shell = process.env.SHELL || "/bin/sh";
	const cwd = lastOf(flags, "c");
	const options = { hasTerminal: true, changesDirectory: cwd !== undefined, isConfined: false };
	const { workspace } = sessions.flags;
	const session = await named(client, name, {
		argv: rest.length === 0 ? [shell] : rest.length === 1 ? [shell, "-c", rest[0] ?? ""] : [...rest],
		mode: "pty",
		...sizeOf(flags, DEFAULT_SIZE),
		...(isLocal ? { baseEnv: callerEnvironment(process.env, options), cwd: resolve(cwd ?? ".") } : {}),
		...(!isLocal && cwd !== undefined ? { cwd } : {}),
		// The harness may have no TERM.
		env: { TERM: "xterm-256color", [SOCKET]: sessions.socket, ...pairs(flags.get("e") ?? [], "-e") },
		...(workspace === undefined ? {} : { workspace }),
		labels: sessions.labels(name),
		// Harnesses compare the shell's output byte by byte.
		shellHooks: false,
	});
	if (flags.has("P")) await printEach([{ info: session.snapshot, session }], lastOf(flags, "F") ?? "#{session_name}:");
	if (!flags.has("d")) await attach(session.id);
}

/** The session also gets the tmux name, unless a running session of another socket has it: our names are unique. */
async function named(client: Client, name: string | undefined, request: CreateSession): Promise<LoadedSession> {
	if (name === undefined) return client.sessions.create(request);
	try {
		return await client.sessions.create({ ...request, name });
	} catch (error) {
		if (!(error instanceof HawserError) || error.code !== "session_exists") throw error;
		return client.sessions.create(request);
	}
}

function sizeOf(flags: Flags, { cols, rows }: { cols: number; rows: number }): { cols: number; rows: number } {
	const number = (letter: string, otherwise: number) => {
		const text = lastOf(flags, letter);
		if (text === undefined || text === "-") return otherwise;
		if (/^\d{1,5}$/.test(text) && Number(text) > 0) return Number(text);
		throw new UsageError(`size invalid: -${letter} ${text}`);
	};
	return { cols: number("x", cols), rows: number("y", rows) };
}

function listing(format: string): Run {
	return async ({ flags }, { sessions }) => {
		const found = flags.has("a") ? await sessions.running() : [await sessions.find(lastOf(flags, "t"))];
		await printEach(found, lastOf(flags, "F") ?? format);
	};
}

async function printEach(found: readonly TargetSession[], format: string): Promise<void> {
	for (const { info, session } of found) await print(`${await expand(format, new FormatTarget(info, session))}\n`);
}

/** Without -p it writes to the status line, which does not exist here. */
async function displayMessage(
	{ flags, rest }: { flags: Flags; rest: readonly string[] },
	{ sessions }: TmuxContext,
): Promise<void> {
	if (!flags.has("p")) return;
	const found = await sessions.find(lastOf(flags, "t"));
	await printEach([found], lastOf(flags, "F") ?? rest.join(" "));
}

async function sendKeys(
	{ flags, rest }: { flags: Flags; rest: readonly string[] },
	{ sessions }: TmuxContext,
): Promise<void> {
	const { session } = await sessions.find(lastOf(flags, "t"));
	const encode = flags.has("H") ? byteOfHex : flags.has("l") ? (word: string) => Buffer.from(word) : bytesOfKey;
	const times = Number(lastOf(flags, "N") ?? 1);
	const bytes = Buffer.concat(rest.map(encode));
	if (bytes.byteLength > 0) await session.write(Buffer.concat(Array.from({ length: times }, () => bytes)));
}

async function capturePane({ flags }: { flags: Flags }, { sessions }: TmuxContext): Promise<void> {
	const { session } = await sessions.find(lastOf(flags, "t"));
	if (!flags.has("p")) throw new UsageError("capture-pane: only -p is supported");
	const wanted = { start: lastOf(flags, "S"), end: lastOf(flags, "E") };
	await print(await capture(session, { ...wanted, colors: flags.has("e"), isJoined: flags.has("J") }));
}

async function waitFor(
	{ flags, rest }: { flags: Flags; rest: readonly string[] },
	{ folder }: TmuxContext,
): Promise<void> {
	const [name] = rest;
	if (name === undefined) throw new UsageError("wait-for: too few arguments");
	if (flags.has("L") || flags.has("U")) throw new UsageError("wait-for: -L and -U are not supported");
	const channel = new Channel(folder, name);
	await (flags.has("S") ? channel.signal() : channel.wait());
}

async function killSession({ flags }: { flags: Flags }, { sessions }: TmuxContext): Promise<void> {
	const { info, session } = await sessions.find(lastOf(flags, "t"));
	if (flags.has("a")) await killAll((await sessions.all()).filter(({ info: { id } }) => id !== info.id));
	else await session.kill();
}

async function killAll(found: readonly TargetSession[]): Promise<void> {
	await Promise.all(found.map(({ session }) => session.kill()));
}

async function resize({ flags }: { flags: Flags }, { sessions }: TmuxContext): Promise<void> {
	const { info, session } = await sessions.find(lastOf(flags, "t"));
	await session.resize(sizeOf(flags, info.size));
}

function buffersOf({ folder }: TmuxContext): Buffers {
	return new Buffers(folder);
}

async function setBuffer(
	{ flags, rest }: { flags: Flags; rest: readonly string[] },
	context: TmuxContext,
): Promise<void> {
	const name = lastOf(flags, "b");
	const buffers = buffersOf(context);
	const before = flags.has("a") ? await buffers.get(name) : Buffer.alloc(0);
	await buffers.set(name, Buffer.concat([before, Buffer.from(rest[0] ?? "")]));
}

async function loadBuffer(
	{ flags, rest }: { flags: Flags; rest: readonly string[] },
	context: TmuxContext,
): Promise<void> {
	const [path] = rest;
	if (path === undefined) throw new UsageError("load-buffer: too few arguments");
	await buffersOf(context).set(lastOf(flags, "b"), path === "-" ? await buffer(process.stdin) : await readFile(path));
}

/** Ends lines with the -s separator, else with Enter, or leaves them with -r; -p uses bracketed paste. */
async function pasteBuffer({ flags }: { flags: Flags }, context: TmuxContext): Promise<void> {
	const name = lastOf(flags, "b");
	const { session } = await context.sessions.find(lastOf(flags, "t"));
	const buffers = buffersOf(context);
	const data = await buffers.get(name);
	const separator = lastOf(flags, "s") ?? (flags.has("r") ? "\n" : "\r");
	const bytes = Buffer.from(data.toString("latin1").replaceAll("\n", separator), "latin1");
	// The server knows whether the program enabled bracketed paste.
	if (flags.has("p")) await session.send({ text: bytes.toString(), paste: true }, { timeoutMs: 0 });
	else await session.write(bytes);
	if (flags.has("d")) await buffers.remove(name);
}

/** Sends new output to a command, in a session of its own that ends with this one. */
async function pipePane(
	{ flags, rest }: { flags: Flags; rest: readonly string[] },
	{ sessions, stateDir }: TmuxContext,
): Promise<void> {
	const { info } = await sessions.find(lastOf(flags, "t"));
	const { client, isLocal } = await sessions.client();
	const label = `${PIPE_LABEL}=${info.id}`;
	const pipes = await client.sessions.list({ state: ["running"], label: [label] });
	if (flags.has("o") && pipes.length > 0 && rest.length > 0) return;
	for (const { id } of pipes) await client.sessions.at(id).kill();
	const [command] = rest;
	if (command === undefined) return;
	if (flags.has("I")) throw new UsageError("pipe-pane: -I is not supported");
	if (!isLocal) throw new UsageError("pipe-pane: needs a local server");
	const follow = [process.execPath, cliPath, "logs", "--follow", "--since", String(offsetsOf(info).end), info.id];
	await client.sessions.create({
		argv: ["/bin/sh", "-c", 'command=$1; shift; "$@" | /bin/sh -c "$command"', "sh", command, ...follow],
		mode: "pipe",
		stdin: "closed",
		cwd: process.cwd(),
		baseEnv: callerEnvironment(process.env, { hasTerminal: false, changesDirectory: false, isConfined: false }),
		env: { HAWSER_STATE_DIR: stateDir },
		workspace: info.workspace,
		labels: { [PIPE_LABEL]: info.id },
	});
}
