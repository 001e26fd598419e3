/** Finds the server: where a flag or a variable says, else where one left its address in the state directory. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Command, Option } from "commander";
import { type Address, type Client, connect, HawserError } from "../client/index.ts";
import type { Health } from "../protocol/messages.ts";
import { stateDirectory } from "../server/config.ts";
import { startInBackground } from "./start-server.ts";

export type ServerFlags = { readonly url?: string; readonly token?: string; readonly stateDir?: string };

/** The flags with which every command says where the server is. */
export function withServer(command: Command): Command {
	return command
		.addOption(new Option("--url <url>", "the server's address").env("HAWSER_URL"))
		.addOption(new Option("--token <token>", "what to show it").env("HAWSER_TOKEN"))
		.addOption(
			new Option("--state-dir <dir>", "where a server on this machine left its address").env("HAWSER_STATE_DIR"),
		);
}

export async function findServer(flags: ServerFlags): Promise<{ client: Client; isLocal: boolean }> {
	const address = await locate(flags);
	const client = connect({ ...address, locate: () => locate(flags) });
	return { client, isLocal: ["localhost", "127.0.0.1", "[::1]"].includes(new URL(address.url).hostname) };
}

/** The same, and starts one in the background when none answers; an address that was given is taken as it is. */
export async function findOrStartServer(flags: ServerFlags): Promise<{ client: Client; isLocal: boolean }> {
	if (!flags.url) {
		const stateDir = stateFolder(flags);
		const look = async () => {
			const url = await leftAddress(stateDir);
			return url !== undefined && (await healthOf(url)) ? url : undefined;
		};
		if ((await look()) === undefined) await startInBackground({ stateDir, look });
	}
	return findServer(flags);
}

/** What a server says of itself to everybody; undefined when none answers. */
export async function healthOf(url: string): Promise<Health | undefined> {
	try {
		const response = await fetch(new URL("/healthz", url), { signal: AbortSignal.timeout(HEALTH_MS) });
		const health = (await response.json()) as Health | null;
		return health?.status === "ok" ? health : undefined;
	} catch {
		// Nobody there, or somebody else: no server of ours in either case.
		return undefined;
	}
}

/** How long a server that is well may take to say so. */
const HEALTH_MS = 2_000;

export function stateFolder(flags: ServerFlags): string {
	return stateDirectory({ stateDir: flags.stateDir || undefined }, process.env);
}

/** Where the server should be, whether or not it answers. */
export async function locate(flags: ServerFlags): Promise<Address> {
	const folder = stateFolder(flags);
	const left = await leftAddress(folder);
	// An empty variable is how a shell says that there is none.
	const url = flags.url ? parseUrl(flags.url) : left;
	if (url === undefined) {
		throw new HawserError("node_unavailable", `no server is running that keeps its state in ${folder}`, {
			hint: "start one with: hawser serve",
		});
	}
	// The token is the local server's: it is shown to nobody else.
	const token = flags.token || (url === left ? await readText(join(folder, "admin-token")) : undefined);
	return { url, token: token?.trim() };
}

/** What a running server wrote for us. */
async function leftAddress(folder: string): Promise<string | undefined> {
	const text = await readText(join(folder, "server.json"));
	if (text === undefined) return undefined;
	try {
		const { url } = JSON.parse(text) as { url?: unknown };
		return typeof url === "string" ? parseUrl(url) : undefined;
	} catch {
		// Half written, or not ours: as good as none.
		return undefined;
	}
}

function parseUrl(text: string): string {
	if (!URL.canParse(text) || !/^https?:/.test(text)) {
		throw new HawserError(
			"invalid_argument",
			`expected an address such as http://127.0.0.1:7707, not ${JSON.stringify(text)}`,
		);
	}
	return new URL(text).origin;
}

async function readText(path: string): Promise<string | undefined> {
	try {
		return await readFile(path, "utf8");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
}
