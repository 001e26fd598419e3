/**
 * Finds a session's keeper, or the journal if the keeper is gone. If that can't be determined now it retries, until
 * there is an answer or the session is retired.
 */

import { join } from "node:path";
import { Semaphore } from "../../async/semaphore.ts";
import { KillTimeoutError } from "../../backends/kill.ts";
import type { Clock } from "../../core/async/clock.ts";
import { Listeners } from "../../core/async/listeners.ts";
import { SessionError } from "../../core/errors.ts";
import { isEnded } from "../../core/log/session-state.ts";
import { writeAtomically } from "../../disk/write-atomically.ts";
import { isAlive, type ReportedEnd, readRecord, type SessionRecord, writeReportedEnd } from "../link/session-record.ts";
import type { ArchivedSession } from "./archived-session.ts";
import { KeeperLink } from "./keeper-link.ts";
import type { Finder, KeeperSession } from "./keeper-session.ts";
import { type CopyOwner, endCopy, endLost, openArchived, ownerOf, proveGone } from "./lost-session.ts";

/** Timeout of a greeting. It is retried afterwards. */
const GREETING_MS = 2_000;
/** Ending a journal reads its newest segment, so only this many are ended at a time. */
const ENDINGS_AT_A_TIME = 2;
/** Delays between attempts to reach a keeper. At first it may just be exiting. */
const FIRST_RETRY_MS = 10;
const RETRY_MS = 1_000;
/** Delay before a silent keeper is reported, because it may just be exiting. */
const REPORTED_MS = 1_000;

export type SearchOptions = {
	/** Contains one directory per session. */
	readonly directory: string;
	/** Incremented at every start of a server on this directory. */
	readonly generation: number;
	readonly clock: Clock;
	readonly report: (problem: unknown) => void;
	/** Replaces a small file, even on a full disk if possible. Defaults to `writeAtomically`. */
	readonly write?: typeof writeAtomically;
	/** Called at named points, so that tests can crash the server there. */
	readonly passed?: (point: string) => void;
};

export class KeeperFinder implements Finder {
	/** Notified for each session whose keeper is proven to be gone. */
	readonly proven: Listeners<KeeperSession> = new Listeners();
	/** Allows ending lost sessions, which takes a while. The server listens first. */
	readonly allowEndings: () => void;
	readonly #options: SearchOptions;
	readonly #mayEnd: Promise<void>;
	/** Limits concurrent endings of journals. */
	readonly #endings = new Semaphore(ENDINGS_AT_A_TIME);
	#lost = 0;

	constructor(options: SearchOptions) {
		this.#options = options;
		let allow = () => {};
		this.#mayEnd = new Promise((resolve) => {
			allow = resolve;
		});
		this.allowEndings = allow;
	}

	/** Number of sessions that were lost. */
	get lost(): number {
		return this.#lost;
	}

	directoryOf(id: string): string {
		return join(this.#options.directory, id);
	}

	get onDelivered(): (() => void) | undefined {
		const { passed } = this.#options;
		return passed && (() => passed("output.delivered"));
	}

	passed(point: string): void {
		this.#options.passed?.(point);
	}

	async removed({ id }: KeeperSession): Promise<void> {
		const directory = this.directoryOf(id);
		try {
			const record = await readRecord(directory);
			// The directory was moved, and this server uses its new path.
			if (record && (await ownerOf(record, directory)) === "own") return;
		} catch {
			// An unreadable directory is not the one that the keeper writes.
		}
		this.#options.report(
			new Error(
				`session ${id}: ${directory} was deleted or replaced; its keeper and program continue, but store nothing there any more`,
			),
		);
	}

	pause(tries: number): Promise<void> {
		const ms = Math.min(FIRST_RETRY_MS * 2 ** (tries - 1), RETRY_MS);
		return new Promise((resolve) => this.#options.clock.after(ms, resolve));
	}

	/** Retries until the outcome is known. A keeper is never killed for being silent. */
	async find(session: KeeperSession): Promise<KeeperLink | ArchivedSession> {
		const directory = this.directoryOf(session.id);
		const begun = performance.now();
		let isReported = false;
		for (let tries = 1; ; tries++) {
			try {
				const record = await readRecord(directory);
				if (!record) throw new SessionError("session_not_found", `session "${session.id}" was removed`);
				const found = await this.#reach(record, session);
				if (found) return found;
			} catch (error) {
				// These errors are final: removed, superseded, or a newer version. Others may pass, such as a lack of
				// descriptors or a process that could not be killed yet.
				if (error instanceof SessionError && !(error instanceof KillTimeoutError)) throw error;
			}
			if (!isReported && performance.now() - begun > REPORTED_MS) {
				isReported = true;
				this.#options.report(
					new Error(`session ${session.id}: its keeper is not responding but may be alive; retrying`),
				);
			}
			await this.pause(tries);
			if (session.isRetired) throw new SessionError("session_not_found", `session "${session.id}" was retired`);
		}
	}

	async rememberEnd(session: KeeperSession, reported: ReportedEnd): Promise<void> {
		const { id } = session;
		const directory = this.directoryOf(id);
		try {
			if (session.isRetired) return;
			const record = await readRecord(directory);
			if (!record || record.ended || (record.state && isEnded(record.state))) return;
			await writeReportedEnd(directory, reported, this.#options.write ?? writeAtomically);
		} catch (error) {
			// Its directory was removed meanwhile.
			if (session.isRetired) return;
			this.#options.report(new Error(`session ${id}: its end could not be stored`, { cause: error }));
		}
	}

	/** Undefined if no keeper answers, or one of another session. */
	async greet({ spec, keeper }: SessionRecord): Promise<KeeperLink | undefined> {
		try {
			const { link, welcome } = await KeeperLink.connect(keeper, this.#options.generation, GREETING_MS);
			if (welcome.session?.id === spec.id) return link;
			link.close();
		} catch (error) {
			if (error instanceof SessionError) throw error;
		}
		return undefined;
	}

	/**
	 * Returns the keeper's link, or the archived session if the keeper is proven to be gone; undefined while neither is
	 * known.
	 */
	async #reach(record: SessionRecord, session: KeeperSession): Promise<KeeperLink | ArchivedSession | undefined> {
		const directory = this.directoryOf(record.spec.id);
		const { clock, report, write } = this.#options;
		const { seen, standing } = session;
		if (record.ended) return openArchived(record, directory, record.ended, { clock });
		const owner = await ownerOf(record, directory);
		if (owner !== "own") return this.#reachElsewhere(record, directory, owner);
		// If the lock shows that the keeper is gone, skip the greeting.
		const early = proveGone(directory);
		const link = early ? undefined : await this.greet(record);
		if (link) return link;
		const proof = early ?? proveGone(directory);
		if (!proof) return undefined;
		try {
			this.proven.notify(session);
			await this.#mayEnd;
			const options = { clock, report, write, endings: this.#endings };
			const { record: latest, state } = await endLost(record, directory, { seen, standing }, options);
			if (state.status === "lost") this.#lost++;
			return openArchived(latest, directory, state, { clock, seen });
		} finally {
			proof.release();
		}
	}

	/**
	 * The same for a session whose directory was replaced by a copy while a server ran: the copy's lock proves nothing.
	 */
	async #reachElsewhere(
		record: SessionRecord,
		directory: string,
		owner: CopyOwner,
	): Promise<KeeperLink | ArchivedSession | undefined> {
		const link = await this.greet(record);
		if (link) return link;
		if (await isAlive(record.keeper)) return undefined;
		return openArchived(record, directory, await endCopy(record, directory, owner, this.#options), this.#options);
	}
}
