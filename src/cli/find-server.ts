/** Finds the server: where a flag or a variable says, else where one left its address in the state directory. */

import { type Command, Option } from "commander";
import { type Address, type Client, connect } from "../client/index.ts";
import { leftBy, locate as locateLocally, type ServerPlace, stateFolder } from "../local/locate.ts";
import { UsageError } from "./errors.ts";
import { findRemote } from "./remotes.ts";
import { hangs, healthOf, isConnectable, watched } from "./server-health.ts";
import { startInBackground } from "./start-server.ts";

export type ServerFlags = ServerPlace & {
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
			const left = await leftBy(stateDir);
			return left && (await healthOf(left.address)) ? { pid: left.pid, url: left.address.url } : undefined;
		};
		if ((await look()) === undefined) {
			const left = await leftBy(stateDir);
			if (left && (await isConnectable(left.address))) throw hangs(left.address);
			await startInBackground({ stateDir, look });
		}
	}
	return findServer(flags);
}

/** Where the server should be, whether or not it answers. */
export async function locate(flags: ServerFlags): Promise<Address> {
	if (!flags.on) return watched(await locateLocally(flags));
	if (flags.url) throw new UsageError("--on and --url exclude each other");
	const { url, token } = await findRemote(flags.on);
	return watched({ url, token: flags.token || token, mustProve: false });
}

/** The server of this machine and its process, whether it answers or hangs; undefined when none runs. */
export async function runningServer(flags: ServerFlags): Promise<{ pid: number; address: Address } | undefined> {
	const left = await leftBy(stateFolder(flags));
	return left && (await isConnectable(left.address)) ? { ...left, address: watched(left.address) } : undefined;
}
