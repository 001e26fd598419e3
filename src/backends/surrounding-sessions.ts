/** Determines the sessions around a process, or around the local peer of a connection. */

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import type { Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { peerProcess } from "../native/addon.ts";
import { findProcess, minderOf, ProcessTable, type RunningProcess } from "./process-table.ts";

const NONE: readonly string[] = [];
/** State of a connection in `/proc/net/tcp`. */
const ESTABLISHED = "01";

/**
 * The sessions that a process is in, innermost first, by the minders above it. A process started in a session stays
 * below its minder, even if it is detached, and whatever its environment says.
 */
export function sessionsAround(pid: number): readonly string[] {
	return above(pid).flatMap((process) => minderOf(process) ?? []);
}

/**
 * The sessions of the process that made a connection; undefined if that process was on this machine and is gone. For a
 * connection from another machine there are none.
 */
export function sessionsOfPeer(connection: Socket): readonly string[] | undefined {
	const { remoteAddress } = connection;
	if (remoteAddress === undefined) return sessionsOfUnixPeer(connection);
	return isOurs(remoteAddress) ? sessionsOfTcpPeer(connection) : NONE;
}

/** A process in a session. */
export type SessionProcess = {
	/** The innermost session, which may be one of another server. */
	readonly session: string;
	/** The process and those above it in the session, nearest first. */
	readonly processes: readonly RunningProcess[];
};

/** The process that made a connection to a Unix socket; undefined if it is in no session, or is gone. */
export function sessionProcessOf(connection: Socket): SessionProcess | undefined {
	const pid = unixPeer(connection);
	const processes: RunningProcess[] = [];
	for (const next of pid ? above(pid) : []) {
		const session = minderOf(next);
		if (session !== undefined) return { session, processes };
		const process = findProcess(next);
		if (process) processes.push(process);
	}
	return undefined;
}

/** A stream that is not a socket was made by the server itself. */
function sessionsOfUnixPeer(connection: Socket): readonly string[] | undefined {
	if (!("_handle" in connection)) return NONE;
	const pid = unixPeer(connection);
	// The socket is closed by now, which says nothing about the process that sent data over it.
	if (pid === undefined) return undefined;
	// A process in another container, which is in none of our sessions.
	if (pid === null) return NONE;
	// The process may have passed the connection to a process in a session, and ended.
	return findProcess(pid) && sessionsAround(pid);
}

/** Node has no public way to get a socket's descriptor. Undefined for a closed socket, null for an invisible process. */
function unixPeer(connection: Socket): number | null | undefined {
	const { fd = -1 } = (connection as { readonly _handle?: { readonly fd?: number } | null })._handle ?? {};
	return fd < 0 ? undefined : peerProcess(fd);
}

/** A socket of another user, such as a proxy, counts as outside of sessions unless we can see that it is inside. */
function sessionsOfTcpPeer({ remotePort, localPort }: Socket): readonly string[] | undefined {
	const ends = ["tcp", "tcp6"].flatMap((table) => otherEnds(table, remotePort, localPort));
	const sockets = new Set(ends.map(({ inode }) => `socket:[${inode}]`));
	// Our own connections to ourselves carry the sessions in headers; see `fronts/via.ts`.
	if (hasOneOf(sockets, process.pid)) return NONE;
	const holders = new ProcessTable().all.filter(({ pid }) => hasOneOf(sockets, pid));
	if (holders.length > 0) return holders.flatMap(({ pid }) => sessionsAround(pid));
	return ends.some(({ uid }) => uid !== process.getuid?.()) ? NONE : undefined;
}

function isOurs(address: string): boolean {
	const ip = address.replace(/^::ffff:(?=\d+\.)/, "");
	if (ip === "::1" || ip.startsWith("127.")) return true;
	return Object.values(networkInterfaces()).some((one) => one?.some((own) => own.address === ip));
}

/** The sockets at the other end of a connection between two ports. */
function otherEnds(table: string, localPort: number | undefined, remotePort: number | undefined) {
	return readLines(`/proc/net/${table}`).flatMap((line) => {
		const [, local = "", remote = "", state, , , , uid, , inode = "0"] = line.trim().split(/\s+/);
		const isIt = state === ESTABLISHED && portOf(local) === localPort && portOf(remote) === remotePort;
		return isIt && inode !== "0" ? [{ inode, uid: Number(uid) }] : [];
	});
}

function portOf(address: string): number {
	return Number.parseInt(address.slice(address.lastIndexOf(":") + 1), 16);
}

function hasOneOf(sockets: ReadonlySet<string>, pid: number): boolean {
	const directory = `/proc/${pid}/fd`;
	return orNothing(() => readdirSync(directory)).some((fd) =>
		orNothing(() => [readlinkSync(`${directory}/${fd}`)]).some((target) => sockets.has(target)),
	);
}

/** A process and its ancestors, nearest first. */
function above(pid: number): number[] {
	const found: number[] = [];
	for (let next = pid; next > 0 && !found.includes(next); next = findProcess(next)?.parent ?? 0) found.push(next);
	return found;
}

function readLines(path: string): string[] {
	return orNothing(() => readFileSync(path, "latin1").split("\n"));
}

/** An empty list for a process that is gone or not ours. */
function orNothing(read: () => string[]): string[] {
	try {
		return read();
	} catch {
		return [];
	}
}
