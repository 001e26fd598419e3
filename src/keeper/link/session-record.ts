/** The files of a session besides its journal, by which a later server finds it. Each session has its own directory. */

import { randomBytes } from "node:crypto";
import { readFile, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { findProcess } from "../../backends/process-table.ts";
import { SessionError } from "../../core/errors.ts";
import type { LogPosition } from "../../core/log/event.ts";
import type { EndedState, State } from "../../core/log/session-state.ts";
import type { SessionSpec } from "../../core/session/session-info.ts";
import { writeAtomically } from "../../disk/write-atomically.ts";
import { lockFile } from "../../native/addon.ts";
import type { Size } from "../../words/state.ts";

const RECORD_VERSION = 2;

/** Identifies a keeper: its address, and whether that process is still the same. */
export type KeeperProcess = {
	readonly pid: number;
	/** Start time of the process in clock ticks since boot, because a pid may be reused. */
	readonly startTime: string;
	readonly epoch: string;
	readonly socket: string;
};

export type KeeperRecord = KeeperProcess & {
	/**
	 * Identity of its directory (`directoryIdentity`), whose lock it holds as long as it lives. A copy of the directory
	 * has the same record but another identity.
	 */
	readonly place: string;
};

export type SessionRecord = {
	readonly version: number;
	readonly spec: SessionSpec;
	readonly size: Size;
	readonly keeper: KeeperRecord;
	/** Process of the session's program, once it was started. */
	readonly pid: number | null;
	/** The last known state while it ran. */
	readonly state?: State;
	/** End of the log at that time. The journal, if there is one, may have more. */
	readonly end?: LogPosition;
	/** The key of its shell's marks, if it has hooks. */
	readonly shellKey?: string;
	/** The final state, set once the whole log is on disk. */
	readonly ended: State | null;
};

export function journalDirectory(sessionDirectory: string): string {
	return join(sessionDirectory, "journal");
}

/** The server's screen checkpoints. */
export function checkpointFile(sessionDirectory: string): string {
	return join(sessionDirectory, "screens");
}

/** Files for a shell with hooks. */
export function hooksDirectory(sessionDirectory: string): string {
	return join(sessionDirectory, "shell");
}

function recordPath(directory: string): string {
	return join(directory, "session.json");
}

export async function writeRecord(
	directory: string,
	record: Omit<SessionRecord, "version">,
	write: typeof writeAtomically = writeAtomically,
): Promise<void> {
	await write(recordPath(directory), JSON.stringify({ version: RECORD_VERSION, ...record }));
}

/** An end that a server has reported to its clients. */
export type ReportedEnd = { readonly state: EndedState; readonly end: LogPosition };

/** Stores a reported end when the keeper could not, so that no later server takes it back. */
export async function writeReportedEnd(
	directory: string,
	reported: ReportedEnd,
	write: typeof writeAtomically,
): Promise<void> {
	await write(reportedPath(directory), JSON.stringify(reported));
}

function reportedPath(directory: string): string {
	return join(directory, "reported-end.json");
}

/** Stores a new name of a session. Only the keeper writes the record, so this is a file of the server. */
export async function writeName(directory: string, name: string | null): Promise<void> {
	await writeAtomically(namePath(directory), JSON.stringify({ name }));
}

function namePath(directory: string): string {
	return join(directory, "name.json");
}

/** Reads a file of the server beside the record; empty if it does not exist. */
async function readBeside<Content extends object>(path: string): Promise<Partial<Content>> {
	try {
		return JSON.parse(await readFile(path, "utf8")) as Content;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT" || error instanceof SyntaxError) return {};
		throw error;
	}
}

/** Reads the record of a session; undefined if it was never written. */
export async function readRecord(directory: string): Promise<SessionRecord | undefined> {
	let text: string;
	try {
		text = await readFile(recordPath(directory), "utf8");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
	const record = JSON.parse(text) as SessionRecord;
	if (record.version !== RECORD_VERSION) {
		const isNewer = record.version > RECORD_VERSION;
		throw new SessionError(
			"unsupported",
			`${recordPath(directory)} was written by ${isNewer ? "a newer" : "an older"} version (${record.version}; this one reads ${RECORD_VERSION})`,
			{
				hint: `nothing was changed; ${isNewer ? "start the newer server again" : "end the session with the older server"}`,
			},
		);
	}
	const name = await readBeside<{ readonly name: string | null }>(namePath(directory));
	const reported = record.ended ? {} : await readBeside<ReportedEnd>(reportedPath(directory));
	return { ...record, ...reported, spec: { ...record.spec, ...name } };
}

/** Identifies a directory regardless of its name, by device and inode. */
export async function directoryIdentity(directory: string): Promise<string> {
	const { dev, ino } = await stat(directory, { bigint: true });
	return `${dev}:${ino}`;
}

/** Name prefix of directories that are being removed. No session id has it. */
const REMOVED_PREFIX = ".removed-";

/**
 * Removes a session's directory. It is renamed first, so that a crash leaves all of the session or none of it, and a
 * concurrent writer can't add a file to it.
 */
export async function removeRecord(directory: string): Promise<void> {
	const removed = join(dirname(directory), `${REMOVED_PREFIX}${basename(directory)}-${randomBytes(4).toString("hex")}`);
	try {
		await rename(directory, removed);
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === "ENOENT") return;
		// A full disk may have no room for the new name. After any other error the session stays whole.
		if (code !== "ENOSPC" && code !== "EDQUOT") throw error;
		await removeAll(directory);
		return;
	}
	await removeAll(removed);
}

/** Whether a directory is left over from an interrupted removal. */
export function isRemovedName(name: string): boolean {
	return name.startsWith(REMOVED_PREFIX);
}

export async function removeAll(directory: string): Promise<void> {
	// Retries, because a pending write may just have added a file.
	await rm(directory, { recursive: true, force: true, maxRetries: 5 });
}

/**
 * Locks a session's directory until the descriptor is closed; null while its keeper lives. Throws if that can't be
 * determined now.
 */
export function lockDirectory(directory: string): number | null {
	return lockFile(join(directory, "lock"));
}

/** The start time of a process; undefined if there is none. Throws if that can't be determined now. */
export async function processStartTime(pid: number): Promise<string | undefined> {
	return findProcess(pid)?.startTime.toString();
}

export async function isAlive(keeper: KeeperRecord): Promise<boolean> {
	return (await processStartTime(keeper.pid)) === keeper.startTime;
}
