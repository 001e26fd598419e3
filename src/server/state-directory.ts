/** The server's place on disk: one server at a time, with a number that grows at every start. */

import { closeSync } from "node:fs";
import { chmod, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { SessionError } from "../core/errors.ts";
import { Reserve } from "../disk/reserve.ts";
import { lockFile } from "../native/addon.ts";
import { makeTree } from "./make-tree.ts";
import { checkTrusted } from "./trusted-path.ts";

/** What the kernel allows for the path of a Unix socket, its final NUL not counted. */
const MAX_SOCKET_PATH_BYTES = 107;
/** The longest name that a socket gets, with its separator. */
const SOCKET_NAME_BYTES = "/0123456789abcdef.sock".length;

export type StateDirectory = {
	readonly path: string;
	readonly sessions: string;
	/** What shells with hooks read that live in the server's own process. */
	readonly shells: string;
	readonly workspaces: string;
	readonly webhooks: string;
	readonly sockets: string;
	/** The server's own, for commands of the same account. */
	readonly socket: string;
	readonly keeperLog: string;
	readonly generation: number;
	/** Six letters and digits that stand for this directory, made once: ids of its sessions end in them. */
	readonly node: string;
	/** Replaces one of the server's small files, whole or not at all, even on a disk that is full. */
	write(file: string, text: string): Promise<void>;
	/** Makes the admin token on the first start, and reads it on every other. */
	adminToken(make: () => string): Promise<string>;
	/** Where the other commands find the running server: its socket, and its address for people. */
	announce(url: string, dropIn?: string | undefined): Promise<void>;
	/** Lets another server in. */
	release(): Promise<void>;
};

type Write = StateDirectory["write"];

/** `makeCode` makes the six letters and digits of a directory that has none. */
export async function openStateDirectory(
	path: string,
	sockets: string,
	makeCode: () => string,
): Promise<StateDirectory> {
	checkSocketPath(sockets);
	await makePrivate(path);
	await makePrivate(sockets);
	const lock = await acquire(path);
	const reserve = new Reserve(join(path, "reserve"));
	await reserve.fill();
	const write = (file: string, text: string) => reserve.write(file, text);
	const generation = await nextGeneration(path, write);
	const node = await nodeCode(path, makeCode, write);
	const addressFile = join(path, "server.json");
	// The code keeps the servers of several state directories apart that share a place for their sockets.
	const socket = join(sockets, `server-${node}.sock`);
	return {
		path,
		sessions: join(path, "sessions"),
		shells: join(path, "shells"),
		workspaces: join(path, "workspaces"),
		webhooks: join(path, "webhooks"),
		sockets,
		socket,
		keeperLog: join(path, "keepers.log"),
		generation,
		node,
		write,
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

/** Makes a directory that only we can use, or makes sure that it is one. */
async function makePrivate(path: string): Promise<void> {
	try {
		await checkTrusted(path);
		await makeTree(path);
		// Once more: where everybody may make something, somebody else may have been faster.
		await checkTrusted(path);
		const { uid, mode } = await stat(path);
		if (uid !== process.getuid?.()) throw new SessionError("permission_denied", `${path} belongs to another user`);
		if ((mode & 0o077) !== 0) await chmod(path, 0o700);
	} catch (error) {
		if (error instanceof SessionError) throw error;
		const code = (error as NodeJS.ErrnoException).code;
		throw new SessionError("permission_denied", `the directory ${path} can't be made or used (${code})`, {
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
		// There is no addon to lock it with, which is no fault of the directory.
		if (error instanceof SessionError) throw error;
		const code = (error as NodeJS.ErrnoException).code;
		throw new SessionError("permission_denied", `${file} can't be written (${code})`, {
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
 * More than any before: keepers obey no server with a lower one. Where the last is not known, because it was never
 * written, or its file was lost or damaged, the time in milliseconds is more than anybody can have counted to.
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

/** Undefined for a file that is not there. */
async function readText(file: string): Promise<string | undefined> {
	try {
		return (await readFile(file, "utf8")).trim();
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
}

/** The address that its operator knows: that of the drop-in, where there is one. */
function shownAddress(announced: string): string {
	const { url, dropIn } = JSON.parse(announced) as { url: string; dropIn?: string };
	return dropIn ?? url;
}
