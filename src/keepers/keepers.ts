/** The home of durable sessions: starts each in a keeper of its own, and finds those that were there before. */

import { closeSync } from "node:fs";
import { mkdir, readdir, stat } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { killSurvivors } from "../backends/kill.ts";
import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import { Listeners } from "../core/listeners.ts";
import type { Session, SessionStart } from "../core/session.ts";
import type { Forgetting, Home } from "../core/sessions.ts";
import { initialState } from "../core/state.ts";
import { lockDirectory, readRecord, removeRecord, type SessionRecord } from "../link/record.ts";
import { signalProcess } from "../native/addon.ts";
import type { ArchivedSession } from "./archived-session.ts";
import { DiskUse } from "./disk-use.ts";
import { KeeperLink, LinkLost } from "./keeper-link.ts";
import { type Finder, KeptSession } from "./kept-session.ts";
import { archived, endLost, proveGone } from "./loss.ts";
import { Spares, type SparesOptions, START_BUDGET_MS } from "./spares.ts";

/** How long a keeper may take to answer at first; it is tried again after that. */
const GREETING_MS = 2_000;
/** How long a server that starts waits for its keepers before it serves; the others are found while it does. */
const ADOPT_BUDGET_MS = 1_000;
/** Ending a journal reads its newest segment: not many at a time. */
const ENDINGS_AT_A_TIME = 2;
/** Between two tries to reach a keeper that lives but does not answer: at first it may only be on its way out. */
const FIRST_RETRY_MS = 10;
const RETRY_MS = 1_000;
/** Before that a keeper may only be on its way out. */
const REPORTED_MS = 1_000;
/** How many records are read at the same time. */
const RECORDS_AT_A_TIME = 32;

export type KeepersOptions = Omit<SparesOptions, "program"> & {
	/** One directory per session goes here. */
	readonly directory: string;
	readonly fsync: "interval" | "always";
	/** What all journals together may take, before a new session is started. */
	readonly maxDiskBytes: number;
	readonly clock: Clock;
	/** The keeper's program, for tests that do not run from the build. */
	readonly program?: string;
	/** Called at named points, so that a test can crash the server there. */
	readonly passed?: (point: string) => void;
};

export type KeeperFigures = {
	/** Keepers started by this server, and those that died with their session. */
	readonly started: number;
	readonly lost: number;
	/** Waiting now for a session. */
	readonly spares: number;
	readonly journalBytes: number;
};

export class Keepers implements Home, Finder {
	readonly #options: KeepersOptions;
	readonly #spares: Spares;
	readonly #disk: DiskUse;
	readonly #sessions = new Set<KeptSession>();
	/** Hears of a session whose keeper is proven to be gone. */
	readonly #proven = new Listeners<KeptSession>();
	readonly #isServing: Promise<void>;
	/** The server listens: lost sessions can be ended now, which takes a while. */
	readonly serve: () => void;
	/** Turns at ending the journals of lost sessions. */
	readonly #endings: Promise<unknown>[] = Array.from({ length: ENDINGS_AT_A_TIME }, () => Promise.resolve());
	#lost = 0;

	constructor(options: KeepersOptions) {
		this.#options = options;
		const program = options.program ?? fileURLToPath(new URL("../keeper/main.js", import.meta.url));
		this.#spares = new Spares({ ...options, program });
		this.#disk = new DiskUse(options.directory, options.clock);
		let serve = () => {};
		this.#isServing = new Promise((resolve) => {
			serve = resolve;
		});
		this.serve = serve;
	}

	/** Every session that was there before, as far as it is known within a moment, and the first spares. */
	async open(): Promise<Session[]> {
		const { directory, socketDirectory } = this.#options;
		await mkdir(directory, { recursive: true, mode: 0o700 });
		await mkdir(socketDirectory, { recursive: true, mode: 0o700 });
		const adopted = await this.#adoptAll();
		await this.#spares.open();
		return adopted;
	}

	async start(start: SessionStart): Promise<Session> {
		for (;;) {
			const { link, hasWaited } = await this.#spares.take();
			try {
				return await this.#startIn(link, start);
			} catch (error) {
				// Refused, so the keeper is as unused as before.
				if (!(error instanceof LinkLost)) {
					this.#spares.giveBack(link);
					throw error;
				}
				const session = await this.#afterBrokenStart(start);
				if (session) return session;
				// A spare may have died long ago without our having noticed; a new keeper that dies at once has a reason.
				if (!hasWaited)
					throw new SessionError("internal", "the session's keeper died while it started", { cause: error });
			} finally {
				// Only now: the start of another keeper would compete with the start of this session.
				this.#spares.refill();
			}
		}
	}

	async forget(session: Session, { isKilled, isForced = false }: Forgetting): Promise<void> {
		const directory = this.#directoryOf(session.id);
		if (session instanceof KeptSession) {
			session.retire();
			if (isForced) await this.#endKeeper(directory);
			await session.dismiss();
			this.#sessions.delete(session);
		}
		if (isKilled) await killSurvivors(session.id);
		await this.#disk.subtract(session.id);
		await removeRecord(directory);
	}

	async excessBytes(): Promise<number> {
		return (await this.#disk.recent()) - this.#options.maxDiskBytes;
	}

	/** What an operator may want to watch. */
	async figures(): Promise<KeeperFigures> {
		return { ...this.#spares.figures, lost: this.#lost, journalBytes: await this.#disk.now() };
	}

	/** Lets go of every keeper: sessions go on, spares end by themselves. */
	async close(): Promise<void> {
		for (const session of this.#sessions) session.letGo();
		await this.#spares.close();
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
		const directory = this.#directoryOf(session.id);
		const begun = performance.now();
		let isReported = false;
		for (let tries = 1; ; tries++) {
			try {
				const record = await readRecord(directory);
				if (!record) throw new SessionError("session_not_found", `session "${session.id}" was removed`);
				const found = await this.#reach(record, session);
				if (found) return found;
			} catch (error) {
				// Removed, superseded, or of a newer version; anything else, a shortage of descriptors say, will pass.
				if (error instanceof SessionError) throw error;
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

	async #startIn(link: KeeperLink, start: SessionStart): Promise<Session> {
		const directory = this.#directoryOf(start.spec.id);
		this.passed("create.sent");
		await link.call({ do: "open", start, directory, fsync: this.#options.fsync });
		this.passed("create.opened");
		const session = new KeptSession(start.spec, initialState(start.command.size), this);
		session.connected(link);
		this.#sessions.add(session);
		return session;
	}

	/** The link broke while a session was started over it: the session, if it was; undefined once it is certain that nothing of it is left. */
	async #afterBrokenStart(start: SessionStart): Promise<Session | undefined> {
		const directory = this.#directoryOf(start.spec.id);
		const deadline = performance.now() + START_BUDGET_MS;
		for (let tries = 1; ; tries++) {
			const record = await readRecord(directory);
			if (!record) return undefined;
			const link = await this.#greet(record);
			if (link) {
				const session = new KeptSession(start.spec, initialState(start.command.size), this);
				session.connected(link);
				this.#sessions.add(session);
				return session;
			}
			const proof = await proveGone(record, directory);
			if (proof) {
				await killSurvivors(start.spec.id);
				await removeRecord(directory);
				proof.release();
				return undefined;
			}
			if (performance.now() > deadline) {
				throw new SessionError("node_unavailable", "the session's keeper does not answer; it may have been started", {
					hint: `look for session "${start.spec.id}"`,
				});
			}
			await this.pause(tries);
		}
	}

	/** The keeper if it answers, what is left if it is proven to be gone, undefined while nobody can tell. */
	async #reach(record: SessionRecord, session: KeptSession): Promise<KeeperLink | ArchivedSession | undefined> {
		const directory = this.#directoryOf(record.spec.id);
		const { clock, report } = this.#options;
		const { seen } = session;
		if (record.ended) return archived(record, directory, record.ended, { clock });
		const link = await this.#greet(record);
		if (link) return link;
		const proof = await proveGone(record, directory);
		if (!proof) return undefined;
		try {
			this.#proven.tell(session);
			await this.#isServing;
			const inTurn = <T>(work: () => Promise<T>) => this.#inTurn(work);
			const { record: latest, state, isLost } = await endLost(record, directory, seen, { clock, report, inTurn });
			if (isLost) this.#lost++;
			return archived(latest, directory, state, { clock, ...(isLost ? { seen } : {}) });
		} finally {
			proof.release();
		}
	}

	/** Undefined if nobody answers there, or not for this session. */
	async #greet({ spec, keeper }: SessionRecord): Promise<KeeperLink | undefined> {
		try {
			const { link, welcome } = await KeeperLink.connect(keeper, this.#options.generation, GREETING_MS);
			if (welcome.session === spec.id) return link;
			link.close();
		} catch (error) {
			if (error instanceof SessionError) throw error;
		}
		return undefined;
	}

	/** Few at a time, whoever asks. */
	async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
		const before = this.#endings.shift();
		const result = (before ?? Promise.resolve()).then(work);
		this.#endings.push(result.catch(() => {}));
		return result;
	}

	async #adoptAll(): Promise<Session[]> {
		const ids = await readdir(this.#options.directory);
		const adopted: Session[] = [];
		const found: Promise<void>[] = [];
		const next = async (): Promise<void> => {
			for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
				try {
					const session = await this.#adopt(id);
					if (session) adopted.push(session);
					if (session instanceof KeptSession) found.push(this.#recovered(session));
				} catch (error) {
					// One session that can't be read must not keep the others, or the server, from working.
					this.#options.report(new Error(`session ${id} is left alone`, { cause: error }));
				}
			}
		};
		await Promise.all(Array.from({ length: RECORDS_AT_A_TIME }, next));
		let cancel = () => {};
		const late = new Promise<void>((resolve) => {
			cancel = this.#options.clock.after(ADOPT_BUDGET_MS, resolve);
		});
		await Promise.race([Promise.all(found), late]);
		cancel();
		return adopted;
	}

	/** A session that was there before, from its record alone. */
	async #adopt(id: string): Promise<Session | undefined> {
		const directory = this.#directoryOf(id);
		const record = await readRecord(directory);
		if (!record) {
			await this.#removeUnfinished(directory);
			return undefined;
		}
		if (record.ended) return archived(record, directory, record.ended, this.#options);
		const session = new KeptSession(record.spec, record.state ?? initialState(record.size), this);
		this.#sessions.add(session);
		return session;
	}

	/** Resolves when its keeper answers, or is known to be gone. */
	async #recovered(session: KeptSession): Promise<void> {
		let leave = () => {};
		const proven = new Promise<void>((resolve) => {
			leave = this.#proven.add((gone) => {
				if (gone === session) resolve();
			});
		});
		try {
			await Promise.race([session.recover(), proven]);
			this.passed("adopt.connected");
		} catch (error) {
			this.#options.report(new Error(`session ${session.id} is left alone`, { cause: error }));
		} finally {
			leave();
		}
	}

	/** A directory without a record is what a start leaves that was cut off before its program ran; unless it is still under way. */
	async #removeUnfinished(directory: string): Promise<void> {
		const lock = lockDirectory(directory);
		if (lock === null) return;
		// A start that has made the directory and has not locked it yet is a moment old.
		const age = this.#options.clock.now() - (await stat(directory)).mtimeMs;
		if (age > START_BUDGET_MS) await removeRecord(directory);
		closeSync(lock);
	}

	/** Ends a keeper that can't be asked to go, and waits until it is gone. */
	async #endKeeper(directory: string): Promise<void> {
		const record = await readRecord(directory);
		if (!record || record.ended) return;
		const { pid, startTime } = record.keeper;
		signalProcess(pid, Number(startTime), constants.signals.SIGKILL);
		const deadline = performance.now() + START_BUDGET_MS;
		for (let tries = 1; ; tries++) {
			const proof = await proveGone(record, directory);
			proof?.release();
			if (proof) return;
			if (performance.now() > deadline) {
				throw new SessionError("node_unavailable", `its keeper (process ${pid}) can't be ended`);
			}
			await this.pause(tries);
		}
	}

	#directoryOf(id: string): string {
		return join(this.#options.directory, id);
	}
}
