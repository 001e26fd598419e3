/** Finds the server: by flag or variable, else by the address file in this account's state directory. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { findStateDirectory } from "../../disk/state-path.ts";
import { checkTrusted } from "../../disk/trusted-path.ts";
import { HawserError, type ServerAddress } from "../index.ts";
import { unixSocketTransport } from "./unix-socket.ts";

/** Empty values count as missing. */
export type ServerLocation = {
	readonly url?: string | undefined;
	readonly token?: string | undefined;
	readonly stateDir?: string | undefined;
};

export function stateDirectory(flags: ServerLocation): string {
	return findStateDirectory(flags.stateDir, process.env);
}

/**
 * The server's address, whether or not the server responds. The admin token is sent only over the socket, in a
 * directory that belongs to this account; another program may take the port of a dead server.
 */
export async function locate(flags: ServerLocation): Promise<ServerAddress> {
	const folder = stateDirectory(flags);
	const announced = await leftAddress(folder);
	// Shells can't unset a variable for one command, so an empty one counts as missing.
	const given = flags.url ? parseUrl(flags.url) : undefined;
	if (given !== undefined && given !== announced?.url) {
		// An explicit URL and token are trusted: the URL may be a tunnel.
		return { url: given, token: flags.token || undefined, mustProve: false };
	}
	if (announced === undefined) throw await noServer(folder);
	return { ...announced, token: (flags.token || (await readText(join(folder, "admin-token"))))?.trim() };
}

/** The address in a state directory's file; undefined without one. */
async function leftAddress(folder: string): Promise<ServerAddress | undefined> {
	return (await readServerFile(folder))?.address;
}

/** The file of a running server: PID, address and socket. */
export async function readServerFile(folder: string): Promise<{ pid: number; address: ServerAddress } | undefined> {
	const text = await readText(join(folder, "server.json"));
	if (text === undefined) return undefined;
	let left: { url?: unknown; socket?: unknown; pid?: unknown };
	try {
		left = JSON.parse(text) as typeof left;
	} catch {
		// Partially written, or not ours; ignore it.
		return undefined;
	}
	const { url, socket, pid } = left;
	// Older servers have no socket.
	if (typeof url !== "string" || typeof socket !== "string" || typeof pid !== "number") return undefined;
	await checkTrusted(socket);
	const way = unixSocketTransport(socket);
	const fetch: typeof way.fetch = async (input, init) => {
		try {
			return await way.fetch(input, init);
		} catch (error) {
			// The server crashed and left its file.
			throw NOBODY_THERE.has(codeOf(error)) ? await noServer(folder) : error;
		}
	};
	return { pid, address: { url: parseUrl(url), ...way, fetch } };
}

/** Errors when connecting to a socket that no process listens on. */
const NOBODY_THERE: ReadonlySet<string | undefined> = new Set(["ECONNREFUSED", "ENOENT"]);

/** Mentions sessions that keep running without a server. */
async function noServer(folder: string): Promise<HawserError> {
	const kept = await readdir(join(folder, "sessions")).catch(() => []);
	const sessions = kept.length === 0 ? "" : "; durable sessions keep running";
	return new HawserError("node_unavailable", `no server is running for ${folder}${sessions}`, {
		hint: kept.length === 0 ? "start one with hawser serve" : "start one with hawser serve, run or attach",
	});
}

export function parseUrl(text: string): string {
	if (!URL.canParse(text) || !/^https?:/.test(text)) {
		throw new HawserError(
			"invalid_argument",
			`invalid URL ${JSON.stringify(text)}; expected something like http://127.0.0.1:7707`,
		);
	}
	const { origin, pathname } = new URL(text);
	// A proxy may serve the server below a path.
	return origin + pathname.replace(/\/+$/, "");
}

async function readText(path: string): Promise<string | undefined> {
	try {
		return await readFile(path, "utf8");
	} catch (error) {
		if (codeOf(error) === "ENOENT") return undefined;
		throw error;
	}
}

function codeOf(error: unknown): string | undefined {
	return (error as NodeJS.ErrnoException).code;
}
