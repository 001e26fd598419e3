/** The home of durable sessions: starts each in a keeper of its own, and finds those that were there before. */

import { mkdir, rm } from "node:fs/promises";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import { killSurvivors } from "../backends/kill.ts";
import { SessionError } from "../core/errors.ts";
import type { Session, SessionSpec, SessionStart } from "../core/session.ts";
import type { Forgetting, Home, TimedFact } from "../core/sessions.ts";
import { initialState } from "../core/state.ts";
import { readRecord, removeRecord, writeName } from "../link/record.ts";
import { signalProcess } from "../native/addon.ts";
import { adoptAll } from "./adoption.ts";
import { DiskUse } from "./disk-use.ts";
import { keepEnded } from "./keep-ended.ts";
import { type KeeperLink, LinkLost } from "./keeper-link.ts";
import { KeptSession } from "./kept-session.ts";
import { proveGone } from "./loss.ts";
import { Search, type SearchOptions } from "./search.ts";
import { Spares, type SparesOptions, START_BUDGET_MS } from "./spares.ts";
import { listSockets, removeStale } from "./stale-sockets.ts";

export type KeepersOptions = Omit<SparesOptions, "program"> &
	SearchOptions & {
		readonly fsync: "interval" | "always";
		/** What all journals together may take, before a new session is started. */
		readonly maxDiskBytes: number;
		/** The keeper's program, for tests that do not run from the build. */
		readonly program?: string;
	};

type KeeperFigures = {
	/** Keepers started by this server, and those that died with their session. */
	readonly started: number;
	readonly lost: number;
	/** Waiting now for a session. */
	readonly spares: number;
	readonly journalBytes: number;
};

export class Keepers implements Home {
	readonly #options: KeepersOptions;
	readonly #spares: Spares;
	readonly #search: Search;
	readonly #disk: DiskUse;
	readonly #sessions = new Set<KeptSession>();
	/** Those that were there before we made any. */
	#oldSockets: readonly string[] = [];

	constructor(options: KeepersOptions) {
		this.#options = options;
		const program = options.program ?? fileURLToPath(new URL("../keeper/main.js", import.meta.url));
		this.#spares = new Spares({ ...options, program });
		this.#search = new Search(options);
		this.#disk = new DiskUse(options.directory, options.clock);
	}

	/** Every session that was there before, as far as it is known within a moment, and the first spares. */
	async open(): Promise<Session[]> {
		const { directory, socketDirectory } = this.#options;
		await mkdir(directory, { recursive: true, mode: 0o700 });
		await mkdir(socketDirectory, { recursive: true, mode: 0o700 });
		this.#oldSockets = await listSockets(socketDirectory);
		const adopted = await adoptAll(this.#search, this.#options);
		for (const session of adopted) if (session instanceof KeptSession) this.#sessions.add(session);
		await this.#spares.open();
		return adopted;
	}

	/** The server listens: what is lost can be ended now, which takes a while. */
	serve(): void {
		this.#search.allowEndings();
		removeStale(this.#oldSockets).catch(this.#options.report);
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
				const session = await this.#afterBrokenStart(start, error);
				if (session) return session;
				// A spare may have died long ago without our having noticed; a new keeper that dies at once has a reason.
				if (!hasWaited) throw keeperDied(error);
			} finally {
				// Only now: the start of another keeper would compete with the start of this session.
				this.#spares.refill();
			}
		}
	}

	async keep(spec: SessionSpec, facts: AsyncIterable<TimedFact>): Promise<Session> {
		return keepEnded(spec, facts, this.#search.directoryOf(spec.id), this.#options);
	}

	async forget(session: Session, { isKilled, isForced = false }: Forgetting): Promise<void> {
		const directory = this.#search.directoryOf(session.id);
		const kept = session instanceof KeptSession ? session : undefined;
		kept?.retire();
		try {
			if (isForced) await this.#endKeeper(directory);
			await kept?.dismiss();
			if (isKilled) await killSurvivors(session.id);
			await this.#disk.subtract(session.id);
			await removeRecord(directory);
		} catch (error) {
			kept?.unretire();
			throw error;
		}
		if (kept) this.#sessions.delete(kept);
	}

	async rename(session: Session, name: string | null): Promise<void> {
		await writeName(this.#search.directoryOf(session.id), name);
	}

	async excessBytes(): Promise<number> {
		return (await this.#disk.recent()) - this.#options.maxDiskBytes;
	}

	async keptBytes(session: Session): Promise<number> {
		return this.#disk.bytesOf(session.id);
	}

	/** What an operator may want to watch. */
	async figures(): Promise<KeeperFigures> {
		return { ...this.#spares.figures, lost: this.#search.lost, journalBytes: await this.#disk.now() };
	}

	/** Lets go of every keeper: sessions go on, spares end by themselves. */
	async close(): Promise<void> {
		for (const session of this.#sessions) session.letGo();
		await this.#spares.close();
	}

	async #startIn(link: KeeperLink, start: SessionStart): Promise<Session> {
		const { fsync } = this.#options;
		this.#search.passed("create.sent");
		await link.call({ do: "open", start, directory: this.#search.directoryOf(start.spec.id), fsync });
		this.#search.passed("create.opened");
		return this.#started(start, link);
	}

	#started(start: SessionStart, link: KeeperLink): Session {
		const session = new KeptSession(start.spec, initialState(start.command.size), this.#search);
		session.connected(link);
		this.#sessions.add(session);
		return session;
	}

	/**
	 * The link broke while a session was started over it: the session, if it was; undefined if it is certain that its
	 * program never ran. Where it may have run it must not run again, and nothing of it may be left.
	 */
	async #afterBrokenStart(start: SessionStart, cause: unknown): Promise<Session | undefined> {
		const directory = this.#search.directoryOf(start.spec.id);
		const deadline = performance.now() + START_BUDGET_MS;
		for (let tries = 1; ; tries++) {
			const record = await readRecord(directory);
			// It is there before the program runs.
			if (!record) return undefined;
			const link = await this.#search.greet(record);
			if (link) return this.#started(start, link);
			const proof = await proveGone(record, directory);
			if (proof) {
				await killSurvivors(start.spec.id);
				await removeRecord(directory);
				proof.release();
				throw keeperDied(cause);
			}
			if (performance.now() > deadline) {
				throw new SessionError("node_unavailable", "the session's keeper does not answer; it may have been started", {
					hint: `look for session "${start.spec.id}"`,
				});
			}
			await this.#search.pause(tries);
		}
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
			if (proof) return void (await rm(record.keeper.socket, { force: true }));
			if (performance.now() > deadline) {
				throw new SessionError("node_unavailable", `its keeper (process ${pid}) can't be ended`);
			}
			await this.#search.pause(tries);
		}
	}
}

function keeperDied(cause: unknown): SessionError {
	return new SessionError("internal", "the session's keeper died while it started", { cause });
}
