/** Imports a session that ended elsewhere: writes its journal, then its record. */

import type { Clock } from "../../core/async/clock.ts";
import { invariant } from "../../core/errors.ts";
import type { LogPosition } from "../../core/log/event.ts";
import { Log } from "../../core/log/log.ts";
import { advance, initialState, isEnded, type State } from "../../core/log/session-state.ts";
import type { Session } from "../../core/session/session.ts";
import type { SessionSpec } from "../../core/session/session-info.ts";
import type { TimedFact } from "../../core/session/session-registry.ts";
import { Journal } from "../../journal/journal.ts";
import { directoryIdentity, journalDirectory, removeRecord, writeRecord } from "../link/session-record.ts";
import { openArchived } from "./lost-session.ts";

/** An imported session never had a keeper. */
const NO_KEEPER = { pid: 0, startTime: "0", epoch: "", socket: "" };

type KeepOptions = { readonly clock: Clock; readonly fsync: "interval" | "always" };

/** If it fails, nothing is left behind. After a crash, the next server removes a directory without a record. */
export async function importSession(
	spec: SessionSpec,
	facts: AsyncIterable<TimedFact>,
	directory: string,
	options: KeepOptions,
): Promise<Session> {
	const { firstSize: size } = spec;
	invariant(size, "an imported session has a size");
	try {
		const { state, end } = await writeAll(journalDirectory(directory), initialState(size), facts, options);
		const keeper = { ...NO_KEEPER, place: await directoryIdentity(directory) };
		const record = { spec, size, keeper, pid: null, end, ended: state };
		await writeRecord(directory, record);
		return openArchived(record, directory, state, options);
	} catch (error) {
		await removeRecord(directory);
		throw error;
	}
}

async function writeAll(
	directory: string,
	initial: State,
	facts: AsyncIterable<TimedFact>,
	{ clock, fsync }: KeepOptions,
): Promise<{ readonly state: State; readonly end: LogPosition }> {
	let failure: unknown;
	let time = 0;
	let isFull = false;
	const journal = await Journal.open({
		directory,
		// The caller has limited the size.
		limitBytes: Number.POSITIVE_INFINITY,
		fsync,
		clock,
		onError: (error) => {
			failure = error;
		},
	});
	const log = new Log({
		// Events keep their original times.
		clock: { now: () => time, monotonic: () => clock.monotonic(), after: (ms, act) => clock.after(ms, act) },
		archive: journal,
		onPressure: (isPressed) => {
			isFull = isPressed;
		},
	});
	let state = initial;
	try {
		for await (const { time: at, ...fact } of facts) {
			time = at;
			state = advance(state, log.append(fact));
			while (isFull && failure === undefined) await log.archived();
			if (failure !== undefined) throw failure;
		}
	} finally {
		await journal.close();
	}
	if (journal.end.seq < log.end.seq) throw failure;
	invariant(isEnded(state), "an imported session has ended");
	return { state, end: journal.end };
}
