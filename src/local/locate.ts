/** Where a server is: where it is said to be, else where one left its address in the state directory of this account. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Address, HawserError } from "../client/index.ts";
import { stateDirectory } from "../server/config.ts";
import { checkTrusted } from "../server/trusted-path.ts";
import { overSocket } from "./socket-way.ts";

/** Empty or left out is not said. */
export type ServerPlace = {
	readonly url?: string | undefined;
	readonly token?: string | undefined;
	readonly stateDir?: string | undefined;
};

export function stateFolder(flags: ServerPlace): string {
	return stateDirectory({ stateDir: flags.stateDir || undefined }, process.env);
}

/**
 * Where the server should be, whether or not it answers. The operator's token is shown over the server's socket
 * alone: its port may be anybody's once the server is gone, the socket's private directory is ours for good.
 */
export async function locate(flags: ServerPlace): Promise<Address> {
	const folder = stateFolder(flags);
	const left = await leftAddress(folder);
	// An empty variable is how a shell says that there is none.
	const given = flags.url ? parseUrl(flags.url) : undefined;
	if (given !== undefined && given !== left?.url) {
		// Who gives an address and a token means what they say; there may be a tunnel at that address.
		return { url: given, token: flags.token || undefined, mustProve: false };
	}
	if (left === undefined) throw await noServer(folder);
	return { ...left, token: (flags.token || (await readText(join(folder, "admin-token"))))?.trim() };
}

/** Where the server of a state directory says that it is; undefined when none has said so. */
async function leftAddress(folder: string): Promise<Address | undefined> {
	return (await leftBy(folder))?.address;
}

/** What a running server wrote for us: its process, its address, and the way over its socket. */
export async function leftBy(folder: string): Promise<{ pid: number; address: Address } | undefined> {
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
	const way = overSocket(socket);
	const fetch: typeof way.fetch = async (input, init) => {
		try {
			return await way.fetch(input, init);
		} catch (error) {
			// It crashed, and could not take its address away.
			throw NOBODY_THERE.has(codeOf(error)) ? await noServer(folder) : error;
		}
	};
	return { pid, address: { url: parseUrl(url), ...way, fetch } };
}

/** What the kernel says of a socket that no process has. */
const NOBODY_THERE: ReadonlySet<string | undefined> = new Set(["ECONNREFUSED", "ENOENT"]);

/** Programs need no server to keep running, and whoever left them there should know. */
async function noServer(folder: string): Promise<HawserError> {
	const kept = await readdir(join(folder, "sessions")).catch(() => []);
	const sessions = kept.length === 0 ? "" : "; sessions are kept, and their programs keep running";
	return new HawserError("node_unavailable", `no server is running for ${folder}${sessions}`, {
		hint: kept.length === 0 ? "hawser serve starts one" : "hawser serve, run and attach start one",
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
		if (codeOf(error) === "ENOENT") return undefined;
		throw error;
	}
}

function codeOf(error: unknown): string | undefined {
	return (error as NodeJS.ErrnoException).code;
}
