/** Finds the server: by flag or variable, else by the address file in the state directory. */

import { type Command, Option } from "commander";
import { type Client, connect, type ServerAddress } from "../../client/index.ts";
import {
	locate as locateLocally,
	readServerFile,
	type ServerLocation,
	stateDirectory,
} from "../../client/node/locate.ts";
import { UsageError } from "../print/errors.ts";
import { findRemote } from "./remotes.ts";
import { fetchHealth, isConnectable, serverHungError, withHealthChecks } from "./server-health.ts";
import { startInBackground } from "./start-server.ts";

export type ServerFlags = ServerLocation & {
	/** Name of a saved server. */
	readonly on?: string;
};

/** Adds the flags that select a server. */
export function withServer(command: Command): Command {
	return command
		.addOption(new Option("--url <url>", "server URL").env("HAWSER_URL"))
		.addOption(new Option("--on <name>", "saved server (see hawser login)").env("HAWSER_ON"))
		.addOption(new Option("--token <token>", "authentication token").env("HAWSER_TOKEN"))
		.addOption(new Option("--state-dir <dir>", "state directory of a local server").env("HAWSER_STATE_DIR"));
}

export type WorkspaceFlags = ServerFlags & { readonly workspace?: string };

/** The same, with --workspace. */
export function withWorkspace(command: Command, description = "only sessions in this workspace"): Command {
	return withServer(command).addOption(new Option("--workspace <id>", description).env("HAWSER_WORKSPACE"));
}

/** `isLocal` means over a local server's socket. A loopback URL may be a tunnel to another machine. */
export async function findServer(flags: ServerFlags): Promise<{ client: Client; isLocal: boolean }> {
	const address = await locate(flags);
	const client = connect({ ...address, locate: () => locate(flags), times: TIMES });
	return { client, isLocal: address.createConnection !== undefined };
}

/** Short timeouts: a user at a terminal should learn within seconds that a server hangs. */
const TIMES = { connectMs: 5_000, pingMs: 3_000, deadMs: 8_000 };

/** The same, but starts a server in the background if none is running. With --url or --on it never starts one. */
export async function findOrStartServer(flags: ServerFlags): Promise<{ client: Client; isLocal: boolean }> {
	if (!flags.url && !flags.on) {
		const stateDir = stateDirectory(flags);
		const look = async () => {
			const left = await readServerFile(stateDir);
			return left && (await fetchHealth(left.address)) ? { pid: left.pid, url: left.address.url } : undefined;
		};
		if ((await look()) === undefined) {
			const left = await readServerFile(stateDir);
			if (left && (await isConnectable(left.address))) throw serverHungError(left.address);
			await startInBackground({ stateDir, look });
		}
	}
	return findServer(flags);
}

/** The server's address, whether or not the server responds. */
export async function locate(flags: ServerFlags): Promise<ServerAddress> {
	if (!flags.on) return withHealthChecks(await locateLocally(flags));
	if (flags.url) throw new UsageError("--on and --url cannot be used together");
	const { url, token } = await findRemote(flags.on);
	return withHealthChecks({ url, token: flags.token || token, mustProve: false });
}

/** The local server and its PID, even if it hangs; undefined if none is running. */
export async function runningServer(flags: ServerFlags): Promise<{ pid: number; address: ServerAddress } | undefined> {
	const left = await readServerFile(stateDirectory(flags));
	return left && (await isConnectable(left.address)) ? { ...left, address: withHealthChecks(left.address) } : undefined;
}
