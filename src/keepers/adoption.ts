/** What a server finds when it starts: the sessions that were there before it. */

import { closeSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import type { Clock } from "../core/clock.ts";
import type { Session } from "../core/session.ts";
import { initialState } from "../core/state.ts";
import { lockDirectory, readRecord, removeRecord } from "../link/record.ts";
import { KeptSession } from "./kept-session.ts";
import { archived, endCopy, isCopy } from "./loss.ts";
import type { Search } from "./search.ts";
import { START_BUDGET_MS } from "./spares.ts";

/** How long a server that starts waits for its keepers before it serves; the others are found while it does. */
const ADOPT_BUDGET_MS = 1_000;
/** How many records are read at the same time. */
const RECORDS_AT_A_TIME = 32;

type AdoptionOptions = {
	/** One directory per session is here. */
	readonly directory: string;
	readonly clock: Clock;
	readonly report: (problem: unknown) => void;
};

/** Every session that was there before. Resolves when all that live are found or known to be gone, or soon. */
export async function adoptAll(search: Search, options: AdoptionOptions): Promise<Session[]> {
	const ids = await readdir(options.directory);
	const adopted: Session[] = [];
	const found: Promise<void>[] = [];
	const next = async (): Promise<void> => {
		for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
			try {
				const session = await adopt(id, search, options);
				if (session) adopted.push(session);
				if (session instanceof KeptSession) found.push(recovered(session, search, options));
			} catch (error) {
				// One session that can't be read must not keep the others, or the server, from working.
				options.report(new Error(`session ${id} is left alone`, { cause: error }));
			}
		}
	};
	await Promise.all(Array.from({ length: RECORDS_AT_A_TIME }, next));
	// A timer that keeps the process alive: nothing else may do so before it listens.
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<void>((resolve) => {
		timer = setTimeout(resolve, ADOPT_BUDGET_MS);
	});
	await Promise.race([Promise.all(found), late]);
	clearTimeout(timer);
	return adopted;
}

/** A session that was there before, from its record alone. */
async function adopt(id: string, search: Search, options: AdoptionOptions): Promise<Session | undefined> {
	const directory = search.directoryOf(id);
	const record = await readRecord(directory);
	if (!record) {
		await removeUnfinished(directory, options.clock);
		return undefined;
	}
	if (record.ended) return archived(record, directory, record.ended, options);
	if (await isCopy(record, directory)) {
		options.report(new Error(`session ${id} is a copy; its keeper, if it lives, is left to the original`));
		return archived(record, directory, await endCopy(record, directory, options), options);
	}
	return new KeptSession(record.spec, record.state ?? initialState(record.size), search);
}

/** Resolves when its keeper answers, or is known to be gone. */
async function recovered(session: KeptSession, search: Search, { report }: AdoptionOptions): Promise<void> {
	let leave = () => {};
	const proven = new Promise<void>((resolve) => {
		leave = search.proven.add((gone) => {
			if (gone === session) resolve();
		});
	});
	try {
		await Promise.race([session.recover(), proven]);
		search.passed("adopt.connected");
	} catch (error) {
		report(new Error(`session ${session.id} is left alone`, { cause: error }));
	} finally {
		leave();
	}
}

/** A directory without a record is what a start leaves that was cut off before its program ran; unless it is still under way. */
async function removeUnfinished(directory: string, clock: Clock): Promise<void> {
	const lock = lockDirectory(directory);
	if (lock === null) return;
	// A start that has made the directory and has not locked it yet is a moment old.
	const age = clock.now() - (await stat(directory)).mtimeMs;
	if (age > START_BUDGET_MS) await removeRecord(directory);
	closeSync(lock);
}
