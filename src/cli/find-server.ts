/** Finds the server: where a flag or a variable says, else where one left its address in the state directory. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Command, Option } from "commander";
import { type Address, type Client, connect, HawserError } from "../client/index.ts";
import { stateDirectory } from "../server/config.ts";
import { checkTrusted } from "../server/trusted-path.ts";
import { UsageError } from "./errors.ts";
import { overSocket } from "./local-way.ts";
import { findRemote } from "./remotes.ts";
import { hangs, healthOf, isConnectable, watched } from "./server-health.ts";
import { startInBackground } from "./start-server.ts";

export type ServerFlags = {
	readonly url?: string;
	readonly token?: string;
	readonly stateDir?: string;
	/** The name of a remote. */
	readonly on?: string;
};

/** The flags with which every command says where the server is. */
export function withServer(command: Command): Command {
	return command
		.addOption(new Option("--url <url>", "the server's address").env("HAWSER_URL"))
		.addOption(new Option("--on <name>", "the server that hawser login gave this name").env("HAWSER_ON"))
		.addOption(new Option("--token <token>", "what to show it").env("HAWSER_TOKEN"))
		.addOption(
			new Option("--state-dir <dir>", "where a server on this machine left its address").env("HAWSER_STATE_DIR"),
		);
}

export type WorkspaceFlags = ServerFlags & { readonly workspace?: string };

/** The same, for commands that name sessions or what they are for. */
export function withWorkspace(command: Command, description = "only sessions of this workspace"): Command {
	return withServer(command).addOption(new Option("--workspace <id>", description).env("HAWSER_WORKSPACE"));
}

/** `isLocal`: over the socket of a server on this machine. At an address of this machine there may be a tunnel. */
export async function findServer(flags: ServerFlags): Promise<{ client: Client; isLocal: boolean }> {
	const address = await locate(flags);
	const client = connect({ ...address, locate: () => locate(flags), times: TIMES });
	return { client, isLocal: address.createConnection !== undefined };
}

/** People wait at a terminal: they are told within seconds that a server hangs. */
const TIMES = { connectMs: 5_000, pingMs: 3_000, deadMs: 8_000 };

/** The same, and starts one in the background when none answers; an address that was given is taken as it is. */
export async function findOrStartServer(flags: ServerFlags): Promise<{ client: Client; isLocal: boolean }> {
	if (!flags.url && !flags.on) {
		const stateDir = stateFolder(flags);
		const look = async () => {
			const left = await leftAddress(stateDir);
			return left && (await healthOf(left)) ? left.url : undefined;
		};
		if ((await look()) === undefined) {
			const left = await leftAddress(stateDir);
			if (left && (await isConnectable(left))) throw hangs(left);
			await startInBackground({ stateDir, look });
		}
	}
	return findServer(flags);
}

export function stateFolder(flags: ServerFlags): string {
	return stateDirectory({ stateDir: flags.stateDir || undefined }, process.env);
}

/**
 * Where the server should be, whether or not it answers. The operator's token is shown over the server's socket
 * alone: its port may be anybody's once the server is gone, the socket's private directory is ours for good.
 */
export async function locate(flags: ServerFlags): Promise<Address> {
	if (flags.on) {
		if (flags.url) throw new UsageError("--on and --url exclude each other");
		const { url, token } = await findRemote(flags.on);
		return watched({ url, token: flags.token || token, mustProve: false });
	}
	const folder = stateFolder(flags);
	const left = await leftAddress(folder);
	// An empty variable is how a shell says that there is none.
	const given = flags.url ? parseUrl(flags.url) : undefined;
	if (given !== undefined && given !== left?.url) {
		// Who gives an address and a token means what they say; there may be a tunnel at that address.
		return watched({ url: given, token: flags.token || undefined, mustProve: false });
	}
	if (left === undefined) throw await noServer(folder);
	return { ...left, token: (flags.token || (await readText(join(folder, "admin-token"))))?.trim() };
}

/** The server of this machine and its process, whether it answers or hangs; undefined when none runs. */
export async function runningServer(flags: ServerFlags): Promise<{ pid: number; address: Address } | undefined> {
	const left = await leftBy(stateFolder(flags));
	return left && (await isConnectable(left.address)) ? left : undefined;
}

async function leftAddress(folder: string): Promise<Address | undefined> {
	return (await leftBy(folder))?.address;
}

/** What a running server wrote for us: its process, its address, and the way over its socket. */
async function leftBy(folder: string): Promise<{ pid: number; address: Address } | undefined> {
	const text = await readText(join(folder, "server.json"));
	if (text === undefined) return undefined;
	let left: { url?: unknown; socket?: unknown; pid?: unknown };
	try {
		left = JSON.parse(text) as typeof left;
	} catch {
		// Half written, or not ours: as good as none.
		return undefined;
	}
	const { url, socket, pid } = left;
	// A server of an older version has no socket.
	if (typeof url !== "string" || typeof socket !== "string" || typeof pid !== "number") return undefined;
	await checkTrusted(socket);
	return { pid, address: watched({ url: parseUrl(url), ...overSocket(socket) }) };
}

/** Programs need no server to run on, and whoever left them there should know. */
async function noServer(folder: string): Promise<HawserError> {
	const kept = await readdir(join(folder, "sessions")).catch(() => []);
	const sessions = kept.length === 0 ? "" : `; the sessions there are kept, and what runs in them runs on`;
	return new HawserError("node_unavailable", `no server is running that keeps its state in ${folder}${sessions}`, {
		hint: `start one with: hawser serve${kept.length === 0 ? "" : "; hawser attach and hawser run start it by themselves"}`,
	});
}

export function parseUrl(text: string): string {
	if (!URL.canParse(text) || !/^https?:/.test(text)) {
		throw new HawserError(
			"invalid_argument",
			`expected an address such as http://127.0.0.1:7707, not ${JSON.stringify(text)}`,
		);
	}
	const { origin, pathname } = new URL(text);
	// A proxy may serve us below a path.
	return origin + pathname.replace(/\/+$/, "");
}

async function readText(path: string): Promise<string | undefined> {
	try {
		return await readFile(path, "utf8");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
}
