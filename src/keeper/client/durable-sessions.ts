/** Provides durable sessions: starts each in its own keeper, and adopts those that exist already. */

import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import { killRemaining } from "../../backends/kill.ts";
import { valueWithin } from "../../core/async/deadline.ts";
import { SessionError } from "../../core/errors.ts";
import { LOG_START } from "../../core/log/event.ts";
import { initialState, isEnded } from "../../core/log/session-state.ts";
import type { Session } from "../../core/session/session.ts";
import type { SessionSpec, SessionStart } from "../../core/session/session-info.ts";
import type { RemoveOptions, SessionProvider, TimedFact } from "../../core/session/session-registry.ts";
import { makePrivateDirectory } from "../../disk/private-directory.ts";
import { signalProcess } from "../../native/addon.ts";
import { isAlive, readRecord, removeRecord, type SessionRecord, writeName } from "../link/session-record.ts";
import { adoptAll } from "./adoption.ts";
import { ArchivedSession } from "./archived-session.ts";
import { DiskUse } from "./disk-use.ts";
import { importSession } from "./import-session.ts";
import { KeeperFinder, type SearchOptions } from "./keeper-finder.ts";
import { type KeeperLink, KeeperSilent, LinkLost } from "./keeper-link.ts";
import { KeeperSession } from "./keeper-session.ts";
import { type Owner, ownerOf, proveGone } from "./lost-session.ts";
import { SpareKeepers, type SparesOptions, START_BUDGET_MS } from "./spare-keepers.ts";
import { listSockets, removeStale } from "./stale-sockets.ts";
import { recordedStanding } from "./standing.ts";

/**
 * How long a start whose keeper has not answered waits for that keeper, or for the proof that it is gone.
 * @limit the search for a keeper that did not answer a start | the session is `unreachable` until it is found
 */
const RECOVERY_MS = 2_000;

export type KeepersOptions = Omit<SparesOptions, "program"> &
	SearchOptions & {
		readonly fsync: "interval" | "always";
		/** Limit for all journals together, checked before a new session is started. */
		readonly maxDiskBytes: number;
		/** Path of the keeper's program, for tests that do not run from the build. */
		readonly program?: string;
	};

type KeeperFigures = {
	/** Keepers started by this server, and sessions lost with their keeper. */
	readonly started: number;
	readonly lost: number;
	/** Spare keepers that wait for a session. */
	readonly spares: number;
	readonly journalBytes: number;
};

export class DurableSessions implements SessionProvider {
	readonly #options: KeepersOptions;
	readonly #spares: SpareKeepers;
	readonly #search: KeeperFinder;
	readonly #disk: DiskUse;
	readonly #sessions = new Set<KeeperSession>();
	/** Sockets that existed before this server created any. */
	#oldSockets: readonly string[] = [];

	constructor(options: KeepersOptions) {
		this.#options = options;
		const program = options.program ?? fileURLToPath(new URL("../main.js", import.meta.url));
		this.#spares = new SpareKeepers({ ...options, program });
		this.#search = new KeeperFinder(options);
		this.#disk = new DiskUse(options.directory, options.clock);
	}

	/** Adopts the existing sessions, as far as they are found quickly, and starts the first spares. */
	async open(): Promise<Session[]> {
		const { directory, socketDirectory } = this.#options;
		await makePrivateDirectory(directory);
		await makePrivateDirectory(socketDirectory);
		this.#oldSockets = await listSockets(socketDirectory);
		const adopted = await adoptAll(this.#search, this.#options);
		for (const session of adopted) if (session instanceof KeeperSession) this.#sessions.add(session);
		await this.#spares.open();
		return adopted;
	}

	/** The server listens now. Lost sessions can be ended, which takes a while. */
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
				// The keeper refused, so it is still unused.
				if (!(error instanceof KeeperSilent || error instanceof LinkLost)) {
					this.#spares.giveBack(link);
					throw error;
				}
				const session = await this.#afterFailedStart(link, start, error);
				if (session) return session;
				if (error instanceof KeeperSilent) throw notStarted(error);
				// A spare may have died unnoticed long ago. But if a new keeper dies at once, there is a reason.
				if (!hasWaited) throw keeperDied(error);
			} finally {
				// Only now, so that starting a keeper does not slow down the start of this session.
				this.#spares.refill();
			}
		}
	}

	async import(spec: SessionSpec, facts: AsyncIterable<TimedFact>): Promise<Session> {
		return importSession(spec, facts, this.#search.directoryOf(spec.id), this.#options);
	}

	async forget(session: Session, { isKilled, isForced = false }: RemoveOptions): Promise<void> {
		const directory = this.#search.directoryOf(session.id);
		const kept = session instanceof KeeperSession ? session : undefined;
		const retiring = session instanceof ArchivedSession ? session : kept;
		retiring?.retire();
		try {
			const record = await readRecord(directory);
			const owner = record && (await ownerOf(record, directory));
			if (record && (isForced || (isKilled && owner === "orphaned"))) await this.#endKeeper(record, directory, owner);
			const isLinked = (await kept?.endKeeper()) ?? false;
			// The processes of a copied session belong to the original. If the record is gone, another removal was faster.
			if (isKilled && (isLinked || owner === "own" || owner === "orphaned")) await killRemaining(session.id);
			await this.#disk.subtract(session.id);
			await removeRecord(directory).catch(this.#unlessRemoved(directory));
		} catch (error) {
			retiring?.unretire();
			throw error;
		}
		if (kept) this.#sessions.delete(kept);
	}

	async rename(session: Session, name: string | null): Promise<void> {
		const directory = this.#search.directoryOf(session.id);
		await writeName(directory, name).catch((error: unknown) => {
			if (existsSync(directory)) throw error;
			throw new SessionError("node_unavailable", `the name can't be stored: ${directory} was deleted or moved`, {
				hint: "restore the directory, or end the session",
				cause: error,
			});
		});
	}

	async excessBytes(): Promise<number> {
		return (await this.#disk.recent()) - this.#options.maxDiskBytes;
	}

	async keptBytes(session: Session): Promise<number> {
		return isEnded(session.state) ? this.#disk.bytesOf(session.id) : this.#disk.checkpointBytesOf(session.id);
	}

	/** Figures for the server's metrics. */
	async figures(): Promise<KeeperFigures> {
		return { ...this.#spares.figures, lost: this.#search.lost, journalBytes: await this.#disk.latest() };
	}

	/** Disconnects from all keepers. Sessions continue, spares exit. */
	async close(): Promise<void> {
		for (const session of this.#sessions) session.disconnect();
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
		const standing = { state: initialState(start.command.size), end: LOG_START };
		const session = new KeeperSession(start.spec, standing, this.#search);
		session.connected(link);
		this.#sessions.add(session);
		return session;
	}

	/**
	 * Handles a start whose keeper has not answered. Returns the session if its program may have run, perhaps as lost or
	 * unreachable, and undefined if it certainly never ran.
	 */
	async #afterFailedStart(link: KeeperLink, { spec }: SessionStart, cause: Error): Promise<Session | undefined> {
		const directory = this.#search.directoryOf(spec.id);
		link.close();
		let session = await this.#recorded(directory);
		if (!session) {
			// It could run the program later, after the caller got an error.
			if (!(await this.#spares.end(link))) throw unkillable(spec.id, cause);
			session = await this.#recorded(directory);
		}
		if (!session) {
			await removeRecord(directory);
			return undefined;
		}
		this.#sessions.add(session);
		await valueWithin(session.recover(), { ms: RECOVERY_MS });
		return session;
	}

	/** The session of a record, which is written just before its program runs. */
	async #recorded(directory: string): Promise<KeeperSession | undefined> {
		const deadline = performance.now() + START_BUDGET_MS;
		for (let tries = 1; ; tries++) {
			try {
				const record = await readRecord(directory);
				return record && new KeeperSession(record.spec, recordedStanding(record), this.#search);
			} catch (error) {
				// Probably a lack of descriptors, which may pass.
				if (performance.now() > deadline) throw error;
			}
			await this.#search.pause(tries);
		}
	}

	/** A renamed directory counts as removed. The next server deletes it. */
	#unlessRemoved(directory: string): (error: unknown) => void {
		return (error) => {
			if (existsSync(directory)) throw error;
			this.#options.report(error);
		};
	}

	/**
	 * Kills a keeper that can't be reached, and waits until it is gone. The keeper of a copied session is not touched.
	 */
	async #endKeeper(record: SessionRecord, directory: string, owner: Owner | undefined): Promise<void> {
		if (owner === "original" || (owner === "own" && record.ended)) return;
		const { pid, startTime } = record.keeper;
		signalProcess(pid, Number(startTime), constants.signals.SIGKILL);
		const deadline = performance.now() + START_BUDGET_MS;
		for (let tries = 1; ; tries++) {
			if (await isGone(record, directory, owner)) return void (await rm(record.keeper.socket, { force: true }));
			if (performance.now() > deadline) {
				throw new SessionError("node_unavailable", `the session's keeper (process ${pid}) can't be killed`);
			}
			await this.#search.pause(tries);
		}
	}
}

/** Whether a keeper is gone. The lock of another directory says nothing about it. */
async function isGone(record: SessionRecord, directory: string, owner: Owner | undefined): Promise<boolean> {
	if (owner !== "own") return !(await isAlive(record.keeper));
	const proof = proveGone(directory);
	proof?.release();
	return proof !== undefined;
}

function notStarted(cause: KeeperSilent): SessionError {
	return new SessionError("node_unavailable", `the session was not started: ${cause.message}`, {
		hint: "try again; the keeper was killed before it ran the program",
		cause,
	});
}

function unkillable(id: string, cause: Error): SessionError {
	return new SessionError("node_unavailable", "the session's keeper is not responding and could not be killed", {
		hint: `look for processes of session "${id}" in uninterruptible sleep: the disk of the state directory may not answer`,
		cause,
	});
}

function keeperDied(cause: unknown): SessionError {
	return new SessionError("internal", "the session was not started: its keeper died first", { cause });
}
