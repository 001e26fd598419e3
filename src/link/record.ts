/** What a session leaves on disk beside its journal, so that a later server finds it: one directory each. */

import { readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { findProcess } from "../backends/processes.ts";
import { SessionError } from "../core/errors.ts";
import type { Mark, Size } from "../core/event.ts";
import type { SessionSpec } from "../core/session.ts";
import type { State } from "../core/state.ts";
import { writeAtomically } from "../disk/write-atomically.ts";
import { lockFile } from "../native/addon.ts";

const RECORD_VERSION = 1;

/** Who keeps a session: enough to reach the keeper, and to know whether it is still that process. */
export type KeeperRecord = {
	readonly pid: number;
	/** Of the process, in clock ticks since boot: a pid alone may be somebody else by now. */
	readonly startTime: string;
	readonly epoch: string;
	readonly socket: string;
	/** It holds the lock of the session's directory for as long as it lives. Those of link version 1 did not. */
	readonly hasLock?: true;
	/** The directory it has, by `placeOf`: a copy of that says the same and is another one. Not there in older records. */
	readonly place?: string;
};

export type SessionRecord = {
	readonly version: number;
	readonly spec: SessionSpec;
	readonly size: Size;
	readonly keeper: KeeperRecord;
	/** The session's program, once it was started. */
	readonly pid: number | null;
	/** What was last known of it while it ran; not there before link version 2. */
	readonly state?: State;
	/** Where its log ended when that was written; the journal, if there is one, may go further. */
	readonly end?: Mark;
	/** By which the marks of its shell are known, if that has hooks. */
	readonly shellKey?: string;
	/** How it ended, once it did and all of its log is on disk. */
	readonly ended: State | null;
};

export function journalDirectory(sessionDirectory: string): string {
	return join(sessionDirectory, "journal");
}

/** What a shell with hooks reads. */
export function hooksDirectory(sessionDirectory: string): string {
	return join(sessionDirectory, "shell");
}

function recordPath(directory: string): string {
	return join(directory, "session.json");
}

export async function writeRecord(directory: string, record: Omit<SessionRecord, "version">): Promise<void> {
	await writeAtomically(recordPath(directory), JSON.stringify({ version: RECORD_VERSION, ...record }));
}

/** The name that a session was given later: the record is its keeper's to write, and this is the server's. */
export async function writeName(directory: string, name: string | null): Promise<void> {
	await writeAtomically(namePath(directory), JSON.stringify({ name }));
}

function namePath(directory: string): string {
	return join(directory, "name.json");
}

async function readName(directory: string): Promise<{ readonly name?: string | null }> {
	try {
		return JSON.parse(await readFile(namePath(directory), "utf8")) as { name: string | null };
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT" || error instanceof SyntaxError) return {};
		throw error;
	}
}

/** The record in a session's directory; undefined if it was never finished. */
export async function readRecord(directory: string): Promise<SessionRecord | undefined> {
	let text: string;
	try {
		text = await readFile(recordPath(directory), "utf8");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
	const record = JSON.parse(text) as SessionRecord;
	if (record.version > RECORD_VERSION) {
		throw new SessionError(
			"unsupported",
			`${recordPath(directory)} was written by a newer version (${record.version}, this one reads ${RECORD_VERSION})`,
			{ hint: "start the newer server again; nothing was changed" },
		);
	}
	return { ...record, spec: { ...record.spec, ...(await readName(directory)) } };
}

/** Which directory this is, whatever its name: by device and inode. */
export async function placeOf(directory: string): Promise<string> {
	const { dev, ino } = await stat(directory, { bigint: true });
	return `${dev}:${ino}`;
}

export async function removeRecord(directory: string): Promise<void> {
	await rm(directory, { recursive: true, force: true });
}

/** Gets hold of a session's directory until the descriptor is closed; null while its keeper lives. Throws when nobody can tell now. */
export function lockDirectory(directory: string): number | null {
	return lockFile(join(directory, "lock"));
}

/** When a process started, as the kernel counts; undefined if there is none. Throws when nobody can tell now. */
export async function processStartTime(pid: number): Promise<string | undefined> {
	return findProcess(pid)?.startTime.toString();
}

export async function isAlive(keeper: KeeperRecord): Promise<boolean> {
	return (await processStartTime(keeper.pid)) === keeper.startTime;
}
