/**
 * Ends sessions whose keeper is gone: kills their processes and writes the last event to their journal, so that they
 * can be read from then on.
 *
 * The loss of a keeper is proven, not guessed: it holds the lock of its session's directory as long as it lives. Only
 * the server that gets that lock may declare the session lost and write its journal.
 */

import { closeSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import type { Semaphore } from "../../async/semaphore.ts";
import { killRemaining } from "../../backends/kill.ts";
import type { Clock } from "../../core/async/clock.ts";
import { SessionError } from "../../core/errors.ts";
import { type Fact, LOG_START, type LogPosition } from "../../core/log/event.ts";
import { Log } from "../../core/log/log.ts";
import { initialState, isEnded, type State } from "../../core/log/session-state.ts";
import type { writeAtomically } from "../../disk/write-atomically.ts";
import { appendEnd } from "../../journal/journal.ts";
import { openForReading } from "../../journal/journal-reader.ts";
import {
	directoryIdentity,
	isAlive,
	journalDirectory,
	lockDirectory,
	readRecord,
	type SessionRecord,
	writeRecord,
} from "../link/session-record.ts";
import { ArchivedSession } from "./archived-session.ts";
import type { Standing } from "./standing.ts";

type LossOptions = {
	readonly clock: Clock;
	readonly report: (problem: unknown) => void;
	/** Replaces a small file, even on a full disk if possible. */
	readonly write?: typeof writeAtomically | undefined;
};

/** Facts that a server knows in addition to the record. */
type Knowledge = {
	/** The end of the log as any reader here has seen it. */
	readonly seen: LogPosition | undefined;
	/** The keeper's last report. The keeper may not have been able to store it. */
	readonly standing: Standing;
};

/** Proof that a session has no keeper, until it is released. */
type GoneProof = { release(): void };

/** Undefined while the keeper lives, or when that can't be determined now, for example without a free descriptor. */
export function proveGone(directory: string): GoneProof | undefined {
	try {
		const lock = lockDirectory(directory);
		return lock === null ? undefined : { release: () => closeSync(lock) };
	} catch {
		return undefined;
	}
}

/** Ends a session whose keeper is proven to be gone, and returns its final state. */
export async function endLost(
	record: SessionRecord,
	directory: string,
	{ seen, standing }: Knowledge,
	{ endings, ...options }: LossOptions & { readonly endings: Semaphore },
): Promise<{ readonly record: SessionRecord; readonly state: State }> {
	// It may have ended properly before the proof.
	const latest = await readRecord(directory);
	if (latest?.ended) return { record: latest, state: latest.ended };
	const known = withStanding(latest ?? record, standing);
	// Concurrent calls share the scans of running processes.
	await killRemaining(record.spec.id);
	await rm(record.keeper.socket, { force: true });
	const reason = `its keeper (pid ${record.keeper.pid}) is gone`;
	const state = await endings.run(() => endJournal(known, directory, { seen, reason }, options));
	await writeRecord(directory, { ...known, ended: state }, options.write).catch(options.report);
	return { record: known, state };
}

const PROGRESS: Readonly<Record<State["status"], number>> = { running: 0, exited: 1, closed: 2, lost: 2 };

/** The record with the newer of two states. A state that was reported to clients is never taken back. */
function withStanding(record: SessionRecord, { state, end }: Standing): SessionRecord {
	if (PROGRESS[state.status] <= PROGRESS[record.state?.status ?? "running"]) return record;
	return { ...record, state, ...(end ? { end } : {}) };
}

/**
 * Relation between this directory and the keeper in its record. A copied directory has the same record as its original.
 *
 * - `own`: the keeper belongs to this directory.
 * - `original`: it belongs to another directory, or that is unknown. It must not be touched.
 * - `orphaned`: it runs, but its directory was deleted, so only this copy leads to it.
 */
export type Owner = "own" | CopyOwner;
export type CopyOwner = "original" | "orphaned";

export async function ownerOf({ keeper }: SessionRecord, directory: string): Promise<Owner> {
	if (keeper.place === (await directoryIdentity(directory))) return "own";
	return (await isAlive(keeper)) && (await hasDeleted(keeper.pid, keeper.place)) ? "orphaned" : "original";
}

/** Whether a process holds a directory open that was deleted, as a keeper does. */
async function hasDeleted(pid: number, place: string): Promise<boolean> {
	const open = await readdir(`/proc/${pid}/fd`).catch(() => []);
	for (const fd of open) {
		const file = await stat(`/proc/${pid}/fd/${fd}`, { bigint: true }).catch(() => undefined);
		if (file && `${file.dev}:${file.ino}` === place) return file.nlink === 0n;
	}
	return false;
}

const COPY_REASONS: Readonly<Record<CopyOwner, string>> = {
	original: "this is a copy; the original may still run",
	orphaned: "its directory was replaced while it ran; its keeper still runs and ends when this session is deleted",
};

/** Ends the copy of a session in its own journal. Keeper and processes are not touched. */
export async function endCopy(
	record: SessionRecord,
	directory: string,
	owner: CopyOwner,
	options: LossOptions,
): Promise<State> {
	const reason = COPY_REASONS[owner];
	const state = await endJournal(record, directory, { seen: undefined, reason }, options);
	await writeRecord(directory, { ...record, ended: state }, options.write).catch(options.report);
	return state;
}

/** Writes the last event to a journal without one, and merges its newest segment with the keeper's last state. */
async function endJournal(
	record: SessionRecord,
	directory: string,
	{ seen, reason }: { readonly seen: LogPosition | undefined; readonly reason: string },
	{ clock, report }: LossOptions,
): Promise<State> {
	const { spec, size } = record;
	const known = record.state ?? initialState(size);
	const lost: State = { ...known, status: "lost", endedAt: known.endedAt ?? clock.now() };
	// Without a journal the keeper stayed for readers after the session had ended.
	if (spec.retention.journalBytes === 0) return isEnded(known) ? known : lost;
	const isClosed = known.status === "closed";
	const fact: Fact = isClosed ? { kind: "closed" } : { kind: "lost", message: reason };
	const position = newest(seen, lastKnown(record));
	try {
		const { last, resized, exited } = await appendEnd(journalDirectory(directory), fact, clock.now(), position);
		return {
			status: last.kind === "closed" ? "closed" : "lost",
			size: resized?.size ?? lost.size,
			exit: exited?.exit ?? lost.exit,
			endedAt: exited?.time ?? known.endedAt ?? last.time,
		};
	} catch (error) {
		// On a full disk the existing part can still be read. A journal of another version is not touched.
		if (error instanceof SessionError) throw error;
		report(new Error(`session ${spec.id}: writing the end of its journal failed`, { cause: error }));
		return isClosed ? known : lost;
	}
}

/** The position of the next event, or of an ended session's last event, as far as the record has it. */
function lastKnown({ state, end = LOG_START }: Pick<SessionRecord, "state" | "end">): LogPosition {
	return state && isEnded(state) ? { seq: end.seq - 1, offset: end.offset } : end;
}

function newest(seen: LogPosition | undefined, known: LogPosition): LogPosition {
	return seen && seen.seq > known.seq ? seen : known;
}

/** An ended session with its journal. */
export function openArchived(
	record: Omit<SessionRecord, "version">,
	directory: string,
	state: State,
	{
		clock,
		seen,
		owner = "own",
	}: { readonly clock: Clock; readonly seen?: LogPosition | undefined; readonly owner?: Owner },
): ArchivedSession {
	const { spec, shellKey } = record;
	return new ArchivedSession({ spec, state, shellKey, mayRun: owner === "orphaned" }, async () => {
		const archive = spec.retention.journalBytes > 0 ? await openForReading(journalDirectory(directory)) : undefined;
		const isFinished = archive?.isFinished ?? false;
		const known = newest(seen, lastKnown(record));
		const end = archive && (isFinished || archive.end.seq > known.seq) ? archive.end : known;
		const log = new Log({ clock, archive, restored: { end, isFinished } });
		// If the last event could not be written, readers must see it anyway.
		if (!isFinished) log.append(state.status === "closed" ? { kind: "closed" } : LOST);
		return log;
	});
}

const LOST: Fact = { kind: "lost", message: "its keeper is gone" };
