/**
 * What becomes of a session whose keeper is gone: its processes are ended, its journal gets its last event, and it
 * can be read from then on.
 *
 * That a keeper is gone is proven, never guessed: it holds the lock of its session's directory for as long as it
 * lives, and only who gets that lock may call it lost and write its journal.
 */

import { closeSync } from "node:fs";
import { rm } from "node:fs/promises";
import { killSurvivors } from "../backends/kill.ts";
import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import type { Fact, Mark } from "../core/event.ts";
import { Log } from "../core/log.ts";
import { initialState, isEnded, type State } from "../core/state.ts";
import { appendLost } from "../journal/journal.ts";
import { openForReading } from "../journal/reader.ts";
import {
	isAlive,
	journalDirectory,
	lockDirectory,
	placeOf,
	readRecord,
	type SessionRecord,
	writeRecord,
} from "../link/record.ts";
import { ArchivedSession } from "./archived-session.ts";

type LossOptions = {
	readonly clock: Clock;
	readonly report: (problem: unknown) => void;
};

/** Proof that a session has no keeper any more, for as long as it is not released. */
export type Proof = { release(): void };

/** Undefined while the keeper lives, or when nobody can tell now: out of descriptors, for example. */
export async function proveGone(record: SessionRecord, directory: string): Promise<Proof | undefined> {
	try {
		// Keepers of link version 1 have no lock: theirs is given to anybody.
		if (!record.keeper.hasLock && (await isAlive(record.keeper))) return undefined;
		const lock = lockDirectory(directory);
		return lock === null ? undefined : { release: () => closeSync(lock) };
	} catch {
		return undefined;
	}
}

/** Ends what is left of a session whose keeper is proven to be gone, and says how it stood. */
export async function endLost(
	record: SessionRecord,
	directory: string,
	seen: Mark | undefined,
	{ clock, report, inTurn }: LossOptions & { readonly inTurn: <T>(work: () => Promise<T>) => Promise<T> },
): Promise<{ readonly record: SessionRecord; readonly state: State; readonly isLost: boolean }> {
	// It may have ended properly between our look at the record and the proof.
	const latest = await readRecord(directory);
	if (latest?.ended) return { record: latest, state: latest.ended, isLost: false };
	// All lost sessions at once: they share their looks at what runs.
	await killSurvivors(record.spec.id);
	await rm(record.keeper.socket, { force: true });
	const reason = `its keeper (pid ${record.keeper.pid}) is gone`;
	const state = await inTurn(() => endJournal(latest ?? record, directory, { seen, reason }, { clock, report }));
	await writeRecord(directory, { ...(latest ?? record), ended: state }).catch(report);
	return { record: latest ?? record, state, isLost: true };
}

/** Whether its keeper has another directory than this one, which somebody has copied. */
export async function isCopy({ keeper }: SessionRecord, directory: string): Promise<boolean> {
	return keeper.place !== undefined && keeper.place !== (await placeOf(directory));
}

/** Ends the copy of a session, and leaves alone the keeper and the processes, which are the original's if they live. */
export async function endCopy(
	record: SessionRecord,
	directory: string,
	{ clock, report }: LossOptions,
): Promise<State> {
	const reason = "this is a copy; if it runs, it does where it was copied from";
	const state = await endJournal(record, directory, { seen: undefined, reason }, { clock, report });
	await writeRecord(directory, { ...record, ended: state }).catch(report);
	return state;
}

/** Writes the last event into a journal that has none, and adds what its newest segment tells to what the keeper last wrote down. */
async function endJournal(
	record: SessionRecord,
	directory: string,
	{ seen, reason }: { readonly seen: Mark | undefined; readonly reason: string },
	{ clock, report }: LossOptions,
): Promise<State> {
	const { spec, size } = record;
	const known = record.state ?? initialState(size);
	const lost: State = { ...known, status: "lost", endedAt: known.endedAt ?? clock.now() };
	// Without a journal it stayed for whoever wants to read it, long after it had ended.
	if (spec.retention.journalBytes === 0) return isEnded(known) ? known : lost;
	try {
		const { last, resized, exited } = await appendLost(journalDirectory(directory), reason, clock.now(), seen);
		return {
			status: last.kind === "closed" ? "closed" : "lost",
			size: resized?.size ?? lost.size,
			exit: exited?.exit ?? lost.exit,
			endedAt: exited?.time ?? known.endedAt ?? last.time,
		};
	} catch (error) {
		// Refused for its version, or a full disk: what is there can be read all the same, or is left alone.
		if (error instanceof SessionError) throw error;
		report(new Error(`session ${spec.id}: its journal could not be ended`, { cause: error }));
		return lost;
	}
}

/** A session that has ended, with its journal to read. */
export function archived(
	{ spec, shellKey, end: recorded = { seq: 1, offset: 0 } }: SessionRecord,
	directory: string,
	state: State,
	{ clock, seen = recorded }: { readonly clock: Clock; readonly seen?: Mark | undefined },
): ArchivedSession {
	return new ArchivedSession({ spec, state, shellKey }, async () => {
		const archive = spec.retention.journalBytes > 0 ? await openForReading(journalDirectory(directory)) : undefined;
		const isFinished = archive?.isFinished ?? false;
		const known = seen.seq > recorded.seq ? seen : recorded;
		const end = archive && (isFinished || archive.end.seq > known.seq) ? archive.end : known;
		const log = new Log({ clock, archive, restored: { end, isFinished } });
		// The last event is missing where nothing could be written any more; readers must see it all the same.
		if (!isFinished) log.append(state.status === "closed" ? { kind: "closed" } : LOST);
		return log;
	});
}

const LOST: Fact = { kind: "lost", message: "its keeper is gone" };
