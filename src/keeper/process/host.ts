/** The keeper's main object: owns one session and serves it to the server in charge. */

import { withHooks } from "../../backends/shell-hooks.ts";
import { createSpawn } from "../../backends/spawn.ts";
import type { Clock } from "../../core/async/clock.ts";
import { invariant, SessionError } from "../../core/errors.ts";
import type { Receipt } from "../../core/input/action.ts";
import type { Item, LogPosition } from "../../core/log/event.ts";
import { isEnded, type State } from "../../core/log/session-state.ts";
import { LocalSession } from "../../core/session/local-session.ts";
import { Journal } from "../../journal/journal.ts";
import { skim, trimMemory } from "../../native/addon.ts";
import type { Follow, KeeperRequest, OpenRequest, WelcomedSession } from "../link/messages.ts";
import { hooksDirectory, journalDirectory, type KeeperProcess } from "../link/session-record.ts";
import { LockedRecord } from "./locked-record.ts";
import type { ServerLink } from "./server-link.ts";
import { trimMemoryAfterFloods } from "./trim-memory.ts";

/** Grace period of the program at a shutdown. A service manager would kill us soon. */
const SHUTDOWN_GRACE_MS = 2_000;
/** Interval for retrying writes that failed. */
const RETRY_MS = 5_000;
/** Interval for checking that the session's directory is still in its place. */
const DIRECTORY_CHECK_MS = 10_000;

type HostOptions = {
	readonly clock: Clock;
	readonly self: KeeperProcess;
	/** Reports internal errors and disk failures. */
	readonly report: (problem: unknown) => void;
	/** Called when there is nothing left to do. */
	readonly onDone: () => void;
};

export class Host {
	readonly #options: HostOptions;
	#session: LocalSession | undefined;
	#journal: Journal | undefined;
	#record: LockedRecord | undefined;
	#server: ServerLink | undefined;
	/** The pending start of a session. */
	#opening: Promise<unknown> | undefined;
	#isQuitting = false;
	#isLeaving = false;
	#isLeaveDue = false;
	/** No process of the program, or started by it, is left. */
	#isProgramGone = false;

	constructor(options: HostOptions) {
		this.#options = options;
	}

	get sessionId(): string | null {
		return this.#session?.id ?? null;
	}

	get state(): State | null {
		return this.#session?.state ?? null;
	}

	get end(): LogPosition | null {
		return this.#session?.log.end ?? null;
	}

	/** Whether the session's directory was deleted, moved or replaced while this keeper runs. */
	get isDirectoryElsewhere(): boolean {
		return this.#record?.isElsewhere ?? false;
	}

	get isProgramGone(): boolean {
		return this.#isProgramGone;
	}

	/** The session, for a greeting; null in a spare. */
	async welcomedSession(): Promise<WelcomedSession | null> {
		const session = this.#session;
		if (!session) return null;
		const details = await session.ask<"info">({ do: "info" });
		// Read in one turn, so that state and end belong together.
		return { id: session.id, state: session.state, end: session.log.end, details };
	}

	/** A server is in charge now. The previous one is notified. */
	attach(server: ServerLink): void {
		this.#server?.supersede();
		this.#server = server;
		this.#session?.abandonReplies();
	}

	/** A server has disconnected. Its session continues; a spare exits. */
	async detach(server: ServerLink): Promise<void> {
		if (server !== this.#server) return;
		this.#server = undefined;
		// A session that is being started must not be left without its keeper.
		await this.opened();
		if (this.#server) return;
		this.#session?.abandon();
		if (!this.#session) this.#options.onDone();
		else await this.#leaveIfDone();
	}

	/** Resolves when no start is pending, so that the session's state is final. */
	async opened(): Promise<void> {
		await this.#opening;
	}

	async call(request: KeeperRequest, signal: AbortSignal): Promise<unknown> {
		switch (request.do) {
			case "open": {
				const opened = this.#open(request);
				this.#opening = opened.catch(() => {});
				return opened;
			}
			case "ping":
				return null;
			case "quit":
				return this.#quit(request.force);
			default:
				return this.#existing().ask(request, signal);
		}
	}

	/** A cursor, and the position where it begins. */
	follow(
		{ start, flow, isPaced = false }: Follow,
		signal: AbortSignal,
	): { readonly place: LogPosition; readonly items: AsyncIterable<Item> } {
		const session = this.#existing();
		const items = session.follow(start, flow === null ? { signal } : { signal, flow, isPaced });
		return { place: session.log.end, items };
	}

	receipts(stream: string, signal: AbortSignal): AsyncIterable<Receipt> {
		return this.#existing().receipts(stream, signal);
	}

	/** The machine shuts down. Ends the session properly, so that its journal is complete and has the reason. */
	async shutDown(): Promise<void> {
		await this.opened();
		const session = this.#session;
		await session?.kill({ reason: "killed", by: "shutdown", graceMs: SHUTDOWN_GRACE_MS });
		// It exits when everything is on disk. A disk that accepts nothing is not waited for.
		this.#options.clock.after(SHUTDOWN_GRACE_MS, () => this.#options.onDone());
		await this.#quit(false);
		if (this.#journal) return;
		if (session) await this.#record?.update({ ended: session.state, end: session.log.end });
		this.#options.onDone();
	}

	/** Starts the session. If that fails nothing of it is left, and this keeper can take another. */
	async #open({ start, directory, fsync }: OpenRequest): Promise<void> {
		invariant(!this.#session, `this keeper already has session ${this.#session?.id}`);
		const { clock, self, report } = this.#options;
		const { spec, command } = start;
		let record: LockedRecord | undefined;
		let session: LocalSession | undefined;
		try {
			record = await LockedRecord.create(directory, { spec, size: command.size, keeper: self, pid: null, ended: null });
			const { memoryBytes, journalBytes: limitBytes } = spec.retention;
			if (limitBytes > 0) {
				this.#journal = await Journal.open({
					directory: journalDirectory(record.path),
					limitBytes,
					memoryBytes,
					fsync,
					clock,
					onError: report,
				});
			}
			const hooked = spec.shellHooks === true ? await withHooks(command, hooksDirectory(directory)) : undefined;
			// From here on a server finds the session. It takes a program without a record as one that never ran.
			await record.update(hooked ? { shellKey: hooked.hooks.key } : {});
			session = await LocalSession.start(
				{ spec, command: hooked?.command ?? command },
				{
					spawn: createSpawn({ isForOne: true }),
					clock,
					skim,
					archive: this.#journal,
					shellHooks: hooked?.hooks,
					onFailure: report,
				},
			);
			// The program runs. From here on the start must not fail, or a retry would run it twice.
			const { pid } = await session.info();
			this.#session = session;
			this.#record = record;
			const opened = session;
			opened.watch((state) => this.#changed(state, opened.log.end));
			trimMemoryAfterFloods(session.log, clock, trimMemory).catch(report);
			// A failed write is ignored, because the start has succeeded.
			record.update({ pid }).catch(() => {});
			this.#checkDirectory(record);
			void session.gone.then(() => this.#programGone());
			// Announce the state, because there was no watcher until now.
			this.#changed(session.state, session.log.end);
		} catch (error) {
			await session?.kill();
			await this.#journal?.close();
			this.#journal = undefined;
			await record?.remove();
			throw asRefusal(error, directory);
		}
	}

	/** Checks now and at intervals, and reports once that the directory was deleted, moved or replaced. */
	#checkDirectory(record: LockedRecord): void {
		if (!record.isElsewhere) {
			this.#options.clock.after(DIRECTORY_CHECK_MS, () => this.#checkDirectory(record));
			return;
		}
		this.#options.report(
			new Error(
				`session ${this.sessionId}: ${record.directory} was deleted or replaced; the session continues without it`,
			),
		);
		this.#server?.announceRemoval();
	}

	#programGone(): void {
		this.#isProgramGone = true;
		this.#server?.announceGone();
		void this.#leaveIfDone();
	}

	async #quit(force: boolean): Promise<void> {
		this.#isQuitting = true;
		if (force) this.#options.onDone();
		else await this.#leaveIfDone();
	}

	#changed(state: State, end: LogPosition): void {
		this.#server?.announce(state, end);
		// For a server that finds this keeper dead. On a full disk it is not stored.
		this.#record?.update({ state, end }).catch(() => {});
		if (isEnded(state)) void this.#leaveIfDone();
	}

	/**
	 * A keeper exits when its session has ended, no process of it is left, everything is on disk, and no server needs it:
	 * the server said so, or there is none. Without a journal it is the only copy of the session, and stays.
	 */
	async #leaveIfDone(): Promise<void> {
		const session = this.#session;
		const journal = this.#journal;
		const record = this.#record;
		if (!session || !journal || !record) return;
		this.#isLeaveDue = true;
		if (this.#isLeaving) return;
		this.#isLeaving = true;
		try {
			// A call during the check requests another one.
			while (this.#isLeaveDue) {
				this.#isLeaveDue = false;
				if (await this.#leave(session, journal, record)) return;
			}
		} catch (error) {
			this.#options.report(error);
			// Probably a full disk, which may have room later.
			this.#options.clock.after(RETRY_MS, () => void this.#leaveIfDone());
		} finally {
			this.#isLeaving = false;
		}
	}

	async #leave(session: LocalSession, journal: Journal, record: LockedRecord): Promise<boolean> {
		if (!this.#isDone(session)) return false;
		while (journal.end.seq < session.log.end.seq && !record.isRemoved) await this.#somethingArchived(session);
		// A server may have connected meanwhile: on a full disk this can take long.
		if (!this.#isDone(session)) return false;
		await journal.close();
		if (!record.isRemoved) await record.update({ ended: session.state, end: session.log.end });
		this.#options.onDone();
		return true;
	}

	/** Resolves when events were archived, or after a time: a deleted directory accepts no events, without an error. */
	#somethingArchived(session: LocalSession): Promise<void> {
		return new Promise((resolve) => {
			const cancel = this.#options.clock.after(RETRY_MS, resolve);
			void session.log.archived().then(() => {
				cancel();
				resolve();
			});
		});
	}

	#isDone(session: LocalSession): boolean {
		const isNeeded = this.#server !== undefined && !this.#isQuitting;
		// Processes left behind must still be killable, and only the minder knows all of them.
		return isEnded(session.state) && !isNeeded && this.#isProgramGone;
	}

	#existing(): LocalSession {
		invariant(this.#session, "this keeper has no session");
		return this.#session;
	}
}

/** The error when a session's directory can't be created. */
function asRefusal(error: unknown, directory: string): unknown {
	const code = (error as NodeJS.ErrnoException).code;
	if (error instanceof SessionError || code === undefined) return error;
	if (code === "ENOSPC" || code === "EDQUOT") {
		return new SessionError("limit_exceeded", `the disk is full (${code}): ${directory} can't be written`, {
			hint: "free some space, or start a session that is not durable",
			cause: error,
		});
	}
	const known = SessionError.from(error);
	return new SessionError(
		known.code === "internal" ? "node_unavailable" : known.code,
		`${directory} can't be written (${code})`,
		{ ...(known.hint === undefined ? {} : { hint: known.hint }), cause: error },
	);
}
