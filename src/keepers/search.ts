/**
 * Looks for a session's keeper, and for what is left if it is gone. Whatever keeps us from knowing will pass, so it
 * tries again; it ends only with an answer, or when nobody wants one any more.
 */

import { join } from "node:path";
import { Unended } from "../backends/kill.ts";
import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import { Listeners } from "../core/listeners.ts";
import { readRecord, type SessionRecord } from "../link/record.ts";
import type { ArchivedSession } from "./archived-session.ts";
import { KeeperLink } from "./keeper-link.ts";
import type { Finder, KeptSession } from "./kept-session.ts";
import { archived, endLost, proveGone } from "./loss.ts";

/** How long a keeper may take to answer at first; it is tried again after that. */
const GREETING_MS = 2_000;
/** Ending a journal reads its newest segment: not many at a time. */
const ENDINGS_AT_A_TIME = 2;
/** Between two tries to reach a keeper that may live: at first it may only be on its way out. */
const FIRST_RETRY_MS = 10;
const RETRY_MS = 1_000;
/** Before that a keeper may only be on its way out. */
const REPORTED_MS = 1_000;

export type SearchOptions = {
	/** One directory per session is here. */
	readonly directory: string;
	/** Grows with every start of a server on this directory. */
	readonly generation: number;
	readonly clock: Clock;
	readonly report: (problem: unknown) => void;
	/** Called at named points, so that a test can crash the server there. */
	readonly passed?: (point: string) => void;
};

export class Search implements Finder {
	/** Hears of each session whose keeper is proven to be gone. */
	readonly proven: Listeners<KeptSession> = new Listeners();
	/** What is lost may be ended from now on, which takes a while: a server listens first. */
	readonly allowEndings: () => void;
	readonly #options: SearchOptions;
	readonly #mayEnd: Promise<void>;
	/** Turns at ending the journals of lost sessions. */
	readonly #turns: Promise<unknown>[] = Array.from({ length: ENDINGS_AT_A_TIME }, () => Promise.resolve());
	#lost = 0;

	constructor(options: SearchOptions) {
		this.#options = options;
		let allow = () => {};
		this.#mayEnd = new Promise((resolve) => {
			allow = resolve;
		});
		this.allowEndings = allow;
	}

	/** How many sessions were found to be lost. */
	get lost(): number {
		return this.#lost;
	}

	directoryOf(id: string): string {
		return join(this.#options.directory, id);
	}

	passed(point: string): void {
		this.#options.passed?.(point);
	}

	pause(tries: number): Promise<void> {
		const ms = Math.min(FIRST_RETRY_MS * 2 ** (tries - 1), RETRY_MS);
		return new Promise((resolve) => this.#options.clock.after(ms, resolve));
	}

	/** Tries again and again while nobody can tell; a keeper is never killed for being silent. */
	async find(session: KeptSession): Promise<KeeperLink | ArchivedSession> {
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
				// Removed, superseded, or of a newer version; anything else will pass: a shortage of descriptors, say, or what
				// could not be ended yet.
				if (error instanceof SessionError && !(error instanceof Unended)) throw error;
			}
			if (!isReported && performance.now() - begun > REPORTED_MS) {
				isReported = true;
				this.#options.report(
					new Error(`session ${session.id}: its keeper does not answer, and may live; it is tried again`),
				);
			}
			await this.pause(tries);
			if (session.isRetired)
				throw new SessionError("session_not_found", `nobody looks for session "${session.id}" any more`);
		}
	}

	/** Undefined if nobody answers there, or not for this session. */
	async greet({ spec, keeper }: SessionRecord): Promise<KeeperLink | undefined> {
		try {
			const { link, welcome } = await KeeperLink.connect(keeper, this.#options.generation, GREETING_MS);
			if (welcome.session === spec.id) return link;
			link.close();
		} catch (error) {
			if (error instanceof SessionError) throw error;
		}
		return undefined;
	}

	/** The keeper if it answers, what is left if it is proven to be gone, undefined while nobody can tell. */
	async #reach(record: SessionRecord, session: KeptSession): Promise<KeeperLink | ArchivedSession | undefined> {
		const directory = this.directoryOf(record.spec.id);
		const { clock, report } = this.#options;
		const { seen } = session;
		if (record.ended) return archived(record, directory, record.ended, { clock });
		// Where a lock tells at once, nobody has to be asked who is not there.
		const early = record.keeper.hasLock ? await proveGone(record, directory) : undefined;
		const link = early ? undefined : await this.greet(record);
		if (link) return link;
		const proof = early ?? (await proveGone(record, directory));
		if (!proof) return undefined;
		try {
			this.proven.tell(session);
			await this.#mayEnd;
			const inTurn = <T>(work: () => Promise<T>) => this.#inTurn(work);
			const { record: latest, state, isLost } = await endLost(record, directory, seen, { clock, report, inTurn });
			if (isLost) this.#lost++;
			return archived(latest, directory, state, { clock, ...(isLost ? { seen } : {}) });
		} finally {
			proof.release();
		}
	}

	/** Few at a time, whoever asks. */
	async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
		const before = this.#turns.shift() ?? Promise.resolve();
		const result = before.then(work);
		this.#turns.push(result.catch(() => {}));
		return result;
	}
}
