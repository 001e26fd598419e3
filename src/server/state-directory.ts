/** The server's directory: used by one server at a time, with a generation number that grows at every start. */

import { closeSync } from "node:fs";
import { chmod, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { SessionError } from "../core/errors.ts";
import { makePrivateDirectory } from "../disk/private-directory.ts";
import { ReservedSpace } from "../disk/reserved-space.ts";
import { checkTrusted } from "../disk/trusted-path.ts";
import { lockFile } from "../native/addon.ts";

/** Longest path of a Unix socket in the kernel, without its NUL. */
const MAX_SOCKET_PATH_BYTES = 107;
/** Longest name of a socket, with the separator. */
const SOCKET_NAME_BYTES = "/0123456789abcdef.sock".length;

export type StateDirectory = {
	readonly path: string;
	readonly sessions: string;
	/** Files for shells with hooks that run in the server's process. */
	readonly shells: string;
	readonly workspaces: string;
	readonly webhooks: string;
	/** Queued prompts for agents. */
	readonly prompts: string;
	readonly sockets: string;
	/** The server's own socket, for commands of the same account. */
	readonly socket: string;
	/** The socket for reports of hooks. Programs in sessions keep its path in their environment. */
	readonly hookSocket: string;
	readonly keeperLog: string;
	readonly generation: number;
	/** Six letters and digits that identify this directory. The ids of its sessions end in them. */
	readonly node: string;
	/** Replaces a small file atomically, even on a full disk. */
	write(file: string, text: string): Promise<void>;
	/** Runs `work`; if the disk is full, again with the reserved space. */
	withReserve<Result>(work: () => Promise<Result>): Promise<Result>;
	/** Reads the admin token, or creates it on the first start. */
	adminToken(make: () => string): Promise<string>;
	/** Publishes the running server for other commands: its socket and its URL. */
	announce(url: string, dropIn?: string | undefined): Promise<void>;
	/** Releases the lock for another server. */
	release(): Promise<void>;
};

type Write = StateDirectory["write"];

/** `makeCode` creates the six letters and digits of a new directory. */
export async function openStateDirectory(
	path: string,
	sockets: string,
	makeCode: () => string,
): Promise<StateDirectory> {
	checkSocketPath(sockets);
	await makePrivate(path);
	await makePrivate(sockets);
	const lock = await acquire(path);
	const reserve = new ReservedSpace(join(path, "reserve"));
	await reserve.fill();
	const write = (file: string, text: string) => reserve.write(file, text);
	const generation = await nextGeneration(path, write);
	const node = await nodeCode(path, makeCode, write);
	const addressFile = join(path, "server.json");
	// The code keeps servers apart that share a directory for their sockets.
	const socket = join(sockets, `server-${node}.sock`);
	return {
		path,
		sessions: join(path, "sessions"),
		shells: join(path, "shells"),
		workspaces: join(path, "workspaces"),
		webhooks: join(path, "webhooks"),
		prompts: join(path, "prompts"),
		sockets,
		socket,
		hookSocket: join(sockets, `hooks-${node}.sock`),
		keeperLog: join(path, "keepers.log"),
		generation,
		node,
		write,
		withReserve: (work) => reserve.use(work),
		adminToken: (make) => readOrMake(join(path, "admin-token"), make, write),
		announce: (url, dropIn) => write(addressFile, `${JSON.stringify({ url, dropIn, pid: process.pid, socket })}\n`),
		release: async () => {
			try {
				await rm(addressFile, { force: true });
			} finally {
				closeSync(lock);
			}
		},
	};
}

function checkSocketPath(sockets: string): void {
	const room = MAX_SOCKET_PATH_BYTES - SOCKET_NAME_BYTES;
	const length = Buffer.byteLength(sockets);
	if (length <= room) return;
	throw new SessionError(
		"invalid_argument",
		`the path ${sockets} is too long for sockets: ${length} bytes, ${room} are allowed`,
		{
			hint: "choose a shorter --state-dir, or a short --runtime-dir for the sockets alone",
		},
	);
}

/** Creates a directory that only we can use, or checks an existing one. */
async function makePrivate(path: string): Promise<void> {
	try {
		await checkTrusted(path);
		await makePrivateDirectory(path);
		// Checked again: in a shared parent, another user may have created it first.
		await checkTrusted(path);
		const { uid, mode } = await stat(path);
		if (uid !== process.getuid?.()) throw new SessionError("permission_denied", `${path} belongs to another user`);
		if ((mode & 0o077) !== 0) await chmod(path, 0o700);
	} catch (error) {
		if (error instanceof SessionError) throw error;
		const code = (error as NodeJS.ErrnoException).code;
		throw new SessionError("permission_denied", `cannot create or use the directory ${path} (${code})`, {
			hint: "choose another one with --state-dir",
			cause: error,
		});
	}
}

async function acquire(path: string): Promise<number> {
	const file = join(path, "lock");
	let lock: number | null;
	try {
		lock = lockFile(file);
	} catch (error) {
		// The addon for locking is missing; not a problem of the directory.
		if (error instanceof SessionError) throw error;
		const code = (error as NodeJS.ErrnoException).code;
		throw new SessionError("permission_denied", `cannot write ${file} (${code})`, {
			hint: "choose another directory with --state-dir",
			cause: error,
		});
	}
	if (lock !== null) return lock;
	const address = await readFile(join(path, "server.json"), "utf8").catch(() => undefined);
	const where = address === undefined ? "" : ` (${shownAddress(address)})`;
	throw new SessionError("session_exists", `another server${where} is running on the state directory ${path}`, {
		hint: "use that one, stop it first, or choose another --state-dir",
	});
}

/**
 * Returns a number higher than any before: keepers refuse servers with a lower one. If the last number is unknown, the
 * time in milliseconds is larger than any counter can be.
 */
async function nextGeneration(path: string, write: Write): Promise<number> {
	const file = join(path, "generation");
	const last = await readText(file);
	const generation = /^[1-9]\d{0,14}$/.test(last ?? "") ? Number(last) + 1 : Date.now();
	await write(file, `${generation}\n`);
	return generation;
}

async function nodeCode(path: string, make: () => string, write: Write): Promise<string> {
	const file = join(path, "node");
	const known = await readText(file);
	if (known !== undefined && /^[a-z0-9]{6}$/.test(known)) return known;
	const code = make();
	await write(file, `${code}\n`);
	return code;
}

async function readOrMake(file: string, make: () => string, write: Write): Promise<string> {
	const known = await readText(file);
	if (known !== undefined) return known;
	const text = make();
	await write(file, `${text}\n`);
	return text;
}

/** Undefined if the file does not exist. */
async function readText(file: string): Promise<string | undefined> {
	try {
		return (await readFile(file, "utf8")).trim();
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
}

/** The address known to its operator: the drop-in's, if there is one. */
function shownAddress(announced: string): string {
	const { url, dropIn } = JSON.parse(announced) as { url: string; dropIn?: string };
	return dropIn ?? url;
}
