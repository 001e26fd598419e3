/** Writes a session that has ended elsewhere as if it had run here: its journal, and then its record. */

import type { Clock } from "../core/clock.ts";
import { invariant } from "../core/errors.ts";
import type { Mark } from "../core/event.ts";
import { Log } from "../core/log.ts";
import type { Session, SessionSpec } from "../core/session.ts";
import type { TimedFact } from "../core/sessions.ts";
import { advance, initialState, isEnded, type State } from "../core/state.ts";
import { Journal } from "../journal/journal.ts";
import { journalDirectory, removeRecord, writeRecord } from "../link/record.ts";
import { archived } from "./loss.ts";

/** It never had a keeper. */
const NOBODY = { pid: 0, startTime: "0", epoch: "", socket: "" };

type KeepOptions = { readonly clock: Clock; readonly fsync: "interval" | "always" };

/** Leaves nothing behind when it fails: without a record, what a crash leaves is removed by the next server. */
export async function keepEnded(
	spec: SessionSpec,
	facts: AsyncIterable<TimedFact>,
	directory: string,
	options: KeepOptions,
): Promise<Session> {
	const { firstSize: size } = spec;
	invariant(size, "a session that is taken in has a size");
	try {
		const { state, end } = await writeAll(journalDirectory(directory), initialState(size), facts, options);
		const record = { spec, size, keeper: NOBODY, pid: null, end, ended: state };
		await writeRecord(directory, record);
		return archived({ version: 1, ...record }, directory, state, options);
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
): Promise<{ readonly state: State; readonly end: Mark }> {
	let failure: unknown;
	let time = 0;
	let isFull = false;
	const journal = await Journal.open({
		directory,
		// How much there may be was decided before.
		limitBytes: Number.POSITIVE_INFINITY,
		fsync,
		clock,
		onError: (error) => {
			failure = error;
		},
	});
	const log = new Log({
		// Events have the times that they had.
		clock: { now: () => time, monotonic: () => clock.monotonic(), after: (ms, act) => clock.after(ms, act) },
		archive: journal,
		onPressure: (pressed) => {
			isFull = pressed;
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
	invariant(isEnded(state), "a session that is taken in has ended");
	return { state, end: journal.end };
}
