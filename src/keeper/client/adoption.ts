/** Adopts the sessions that exist when a server starts. */

import { closeSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { Semaphore } from "../../async/semaphore.ts";
import type { Clock } from "../../core/async/clock.ts";
import type { Session } from "../../core/session/session.ts";
import { isRemovedName, lockDirectory, readRecord, removeAll, removeRecord } from "../link/session-record.ts";
import type { KeeperFinder } from "./keeper-finder.ts";
import { KeeperSession } from "./keeper-session.ts";
import { type CopyOwner, endCopy, openArchived, ownerOf } from "./lost-session.ts";
import { START_BUDGET_MS } from "./spare-keepers.ts";
import { recordedStanding } from "./standing.ts";

/**
 * How long a starting server waits for keepers before it serves. The others are found while it does.
 * @limit finding keepers at start | the server listens; it finds the others meanwhile
 */
const ADOPT_BUDGET_MS = 1_000;
/** Records read at the same time. */
const RECORDS_AT_A_TIME = 32;

type AdoptionOptions = {
	/** Contains one directory per session. */
	readonly directory: string;
	readonly clock: Clock;
	readonly report: (problem: unknown) => void;
};

/** Adopts every existing session. Resolves when all keepers have been reached or are known to be gone, or soon. */
export async function adoptAll(search: KeeperFinder, options: AdoptionOptions): Promise<Session[]> {
	const names = await readdir(options.directory);
	for (const name of names.filter(isRemovedName)) removeAll(join(options.directory, name)).catch(options.report);
	const ids = names.filter((name) => !isRemovedName(name));
	const adopted: Session[] = [];
	const found: Promise<void>[] = [];
	const reads = new Semaphore(RECORDS_AT_A_TIME);
	const adoptNext = async (id: string): Promise<void> => {
		try {
			const session = await adopt(id, search, options);
			if (session) adopted.push(session);
			if (session instanceof KeeperSession) found.push(recovered(session, search, options));
		} catch (error) {
			// One unreadable session must not affect the others, or the server.
			options.report(new Error(`session ${id} was skipped`, { cause: error }));
		}
	};
	await Promise.all(ids.map((id) => reads.run(() => adoptNext(id))));
	// This timer keeps the process alive. Nothing else does before the server listens.
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<void>((resolve) => {
		timer = setTimeout(resolve, ADOPT_BUDGET_MS);
	});
	await Promise.race([Promise.all(found), late]);
	clearTimeout(timer);
	return adopted;
}

/** Adopts a session from its record alone. */
async function adopt(id: string, search: KeeperFinder, options: AdoptionOptions): Promise<Session | undefined> {
	const directory = search.directoryOf(id);
	const record = await readRecord(directory);
	if (!record) {
		await removeUnfinished(directory, options.clock);
		return undefined;
	}
	const owner = await ownerOf(record, directory);
	const { clock } = options;
	if (record.ended) return openArchived(record, directory, record.ended, { clock, owner });
	if (owner !== "own") {
		options.report(new Error(`session ${id} ${COPIES[owner]} (keeper: process ${record.keeper.pid})`));
		return openArchived(record, directory, await endCopy(record, directory, owner, options), { clock, owner });
	}
	return new KeeperSession(record.spec, recordedStanding(record), search);
}

const COPIES: Readonly<Record<CopyOwner, string>> = {
	original: "is a copy; its keeper, if alive, belongs to the original",
	orphaned: "has a running keeper and program whose directory was replaced; deleting the session ends them",
};

/** Resolves when the keeper responds, or is known to be gone. */
async function recovered(session: KeeperSession, search: KeeperFinder, { report }: AdoptionOptions): Promise<void> {
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
		report(new Error(`session ${session.id} was skipped`, { cause: error }));
	} finally {
		leave();
	}
}

/**
 * Removes a directory without a record, which is left by a start that failed before its program ran, unless the start
 * is still running.
 */
async function removeUnfinished(directory: string, clock: Clock): Promise<void> {
	const lock = lockDirectory(directory);
	if (lock === null) return;
	// A directory that was just created may not be locked yet.
	const age = clock.now() - (await stat(directory)).mtimeMs;
	if (age > START_BUDGET_MS) await removeRecord(directory);
	closeSync(lock);
}
