/** Finds the server: where a flag or a variable says, else where one left its address in the state directory. */

import { type Command, Option } from "commander";
import { below } from "../client/address.ts";
import { type Address, type Client, connect } from "../client/index.ts";
import { leftAddress, locate, type ServerPlace, stateFolder } from "../local/locate.ts";
import type { Health } from "../protocol/messages.ts";
import { startInBackground } from "./start-server.ts";

export type ServerFlags = ServerPlace;

/** The flags with which every command says where the server is. */
export function withServer(command: Command): Command {
	return command
		.addOption(new Option("--url <url>", "the server's address").env("HAWSER_URL"))
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

export async function findServer(flags: ServerFlags): Promise<{ client: Client; isLocal: boolean }> {
	const address = await locate(flags);
	const client = connect({ ...address, locate: () => locate(flags) });
	const isLoopback = ["localhost", "127.0.0.1", "[::1]"].includes(new URL(address.url).hostname);
	return { client, isLocal: isLoopback || address.fetch !== undefined };
}

/** The same, and starts one in the background when none answers; an address that was given is taken as it is. */
export async function findOrStartServer(flags: ServerFlags): Promise<{ client: Client; isLocal: boolean }> {
	if (!flags.url) {
		const stateDir = stateFolder(flags);
		const look = async () => {
			const left = await leftAddress(stateDir);
			return left && (await healthOf(left)) ? left.url : undefined;
		};
		if ((await look()) === undefined) await startInBackground({ stateDir, look });
	}
	return findServer(flags);
}

/** What a server says of itself to everybody; undefined when none answers. */
export async function healthOf({ url, fetch = globalThis.fetch }: Address): Promise<Health | undefined> {
	try {
		const response = await fetch(below(url, "/healthz"), { signal: AbortSignal.timeout(HEALTH_MS) });
		const health = (await response.json()) as Health | null;
		return health?.status === "ok" ? health : undefined;
	} catch {
		// Nobody there, or somebody else: no server of ours in either case.
		return undefined;
	}
}

/** How long a server that is well may take to say so. */
const HEALTH_MS = 2_000;
