/** A keeper's half of the work: owns one session and serves it to whichever server is in charge. */

import { createSpawn } from "../backends/spawn.ts";
import type { Receipt } from "../core/act.ts";
import type { Clock } from "../core/clock.ts";
import { invariant, SessionError } from "../core/errors.ts";
import type { Item, Mark } from "../core/event.ts";
import { LocalSession } from "../core/local-session.ts";
import type { Spawn } from "../core/process.ts";
import type { SessionDetails } from "../core/session.ts";
import { isEnded, type State } from "../core/state.ts";
import { Journal } from "../journal/journal.ts";
import type { Follow, KeeperQuestion, Opening } from "../link/messages.ts";
import { hooksDirectory, journalDirectory, type KeeperRecord } from "../link/record.ts";
import { skim, trimMemory } from "../native/addon.ts";
import { withHooks } from "../shell/hooks.ts";
import { OwnRecord } from "./own-record.ts";
import type { ServerLink } from "./server-link.ts";
import { tidyAfterFloods } from "./tidy.ts";

/** How long a program may take to end when the machine shuts down: what keeps it up for longer is killed by others. */
const SHUTDOWN_GRACE_MS = 2_000;
/** Between two looks whether what could not be written can be, or need not be. */
const LOOK_MS = 5_000;

type HostOptions = {
	readonly clock: Clock;
	readonly self: KeeperRecord;
	/** Hears of our own bugs and of failing disks. */
	readonly report: (problem: unknown) => void;
	/** Nothing is left to do. */
	readonly onDone: () => void;
};

export class Host {
	readonly #options: HostOptions;
	#session: LocalSession | undefined;
	#journal: Journal | undefined;
	#record: OwnRecord | undefined;
	#server: ServerLink | undefined;
	/** The start of a session that is under way. */
	#opening: Promise<unknown> | undefined;
	#isQuitting = false;
	#isLeaving = false;
	#isLeaveDue = false;

	constructor(options: HostOptions) {
		this.#options = options;
	}

	get sessionId(): string | null {
		return this.#session?.id ?? null;
	}

	get state(): State | null {
		return this.#session?.state ?? null;
	}

	get end(): Mark | null {
		return this.#session?.log.end ?? null;
	}

	/** What is to be told about the session; null in a spare. */
	async details(): Promise<SessionDetails | null> {
		return (await this.#session?.ask<"info">({ do: "info" })) ?? null;
	}

	/** A server is in charge now; the one before is told that it no longer is. */
	attach(server: ServerLink): void {
		this.#server?.supersede();
		this.#server = server;
		this.#session?.abandonReplies();
	}

	/** A server is gone. Its session goes on; a spare has nothing to wait for. */
	async detach(server: ServerLink): Promise<void> {
		if (server !== this.#server) return;
		this.#server = undefined;
		// A session that is being started may be there in a moment, and must not be left without its keeper.
		await this.opened();
		if (this.#server) return;
		this.#session?.abandon();
		if (!this.#session) this.#options.onDone();
		else await this.#leaveIfDone();
	}

	/** Resolves when no start is under way, so that what is said of the session is final. */
	async opened(): Promise<void> {
		await this.#opening;
	}

	async call(question: KeeperQuestion, signal: AbortSignal): Promise<unknown> {
		switch (question.do) {
			case "open": {
				const opened = this.#open(question);
				this.#opening = opened.catch(() => {});
				return opened;
			}
			case "ping":
				return null;
			case "quit":
				return this.#quit(question.force);
			default:
				return this.#existing().ask(question, signal);
		}
	}

	/** A cursor, and where it begins. */
	follow(
		{ start, flow, isPaced = false }: Follow,
		signal: AbortSignal,
	): { readonly place: Mark; readonly items: AsyncIterable<Item> } {
		const session = this.#existing();
		const items = session.follow(start, flow === null ? { signal } : { signal, flow, isPaced });
		return { place: session.log.end, items };
	}

	receipts(stream: string, signal: AbortSignal): AsyncIterable<Receipt> {
		return this.#existing().receipts(stream, signal);
	}

	/** The machine shuts down: ends the session in order, so that its journal is whole and says why. */
	async shutDown(): Promise<void> {
		await this.opened();
		const session = this.#session;
		await session?.kill({ reason: "killed", by: "shutdown", graceMs: SHUTDOWN_GRACE_MS });
		// It leaves by itself once all is on disk; a disk that takes nothing is not waited for.
		this.#options.clock.after(SHUTDOWN_GRACE_MS, () => this.#options.onDone());
		await this.#quit(false);
		if (this.#journal) return;
		if (session) await this.#record?.update({ ended: session.state, end: session.log.end });
		this.#options.onDone();
	}

	/** Starts the session. If that fails nothing of it is left, and this keeper can serve another. */
	async #open({ start, directory, fsync }: Opening): Promise<void> {
		invariant(!this.#session, `this keeper has session ${this.#session?.id} already`);
		const { clock, self, report } = this.#options;
		const { spec, command } = start;
		let record: OwnRecord | undefined;
		let session: LocalSession | undefined;
		try {
			record = await OwnRecord.create(directory, { spec, size: command.size, keeper: self, pid: null, ended: null });
			const { memoryBytes, journalBytes: limitBytes } = spec.retention;
			if (limitBytes > 0) {
				this.#journal = await Journal.open({
					directory: journalDirectory(directory),
					limitBytes,
					memoryBytes,
					fsync,
					clock,
					onError: report,
				});
			}
			const hooked = await withHooks(start, hooksDirectory(directory));
			session = await LocalSession.start(hooked?.start ?? start, {
				spawn: this.#spawnFor(record),
				clock,
				skim,
				archive: this.#journal,
				shellHooks: hooked?.hooks,
				onFailure: report,
			});
			const { pid } = await session.info();
			const shellKey = hooked?.hooks.key;
			await record.update({ pid, state: session.state, ...(shellKey === undefined ? {} : { shellKey }) });
			this.#session = session;
			this.#record = record;
			session.watch((state) => this.#changed(state));
			tidyAfterFloods(session.log, clock, trimMemory).catch(report);
			// What happened until now was told to nobody.
			this.#changed(session.state);
		} catch (error) {
			await session?.kill();
			await this.#journal?.close();
			this.#journal = undefined;
			await record?.remove();
			throw asRefusal(error, directory);
		}
	}

	/** Notices when nothing is left of this start's program, not of an earlier one's that failed. */
	#spawnFor(record: OwnRecord): Spawn {
		return createSpawn({
			isForOne: true,
			onGone: () => {
				record.isProgramGone = true;
				void this.#leaveIfDone();
			},
		});
	}

	async #quit(force: boolean): Promise<void> {
		this.#isQuitting = true;
		if (force) this.#options.onDone();
		else await this.#leaveIfDone();
	}

	#changed(state: State): void {
		this.#server?.announce(state);
		// For a server that finds us dead; with the disk full it must do without.
		const end = this.#session?.log.end;
		this.#record?.update({ state, ...(end ? { end } : {}) }).catch(() => {});
		if (isEnded(state)) void this.#leaveIfDone();
	}

	/**
	 * A keeper goes when its session has ended and nothing of it runs on, everything is on disk, and nobody
	 * needs it: the server said so, or there is none. Without a journal it is the only memory of the
	 * session, and stays.
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
			// Whoever asks while we look asks for another look.
			while (this.#isLeaveDue) {
				this.#isLeaveDue = false;
				if (await this.#leave(session, journal, record)) return;
			}
		} catch (error) {
			this.#options.report(error);
			// A full disk, most likely: there may be room later.
			this.#options.clock.after(LOOK_MS, () => void this.#leaveIfDone());
		} finally {
			this.#isLeaving = false;
		}
	}

	async #leave(session: LocalSession, journal: Journal, record: OwnRecord): Promise<boolean> {
		if (!this.#isDone(session, record)) return false;
		while (journal.end.seq < session.log.end.seq && !record.isRemoved) await this.#somethingArchived(session);
		// A server may have come meanwhile: a full disk can make this a long time.
		if (!this.#isDone(session, record)) return false;
		await journal.close();
		if (!record.isRemoved) await record.update({ ended: session.state, end: session.log.end });
		this.#options.onDone();
		return true;
	}

	/** Or nothing for a while: a directory that somebody removed takes no event any more, and tells nobody. */
	#somethingArchived(session: LocalSession): Promise<void> {
		return new Promise((resolve) => {
			const cancel = this.#options.clock.after(LOOK_MS, resolve);
			void session.log.archived().then(() => {
				cancel();
				resolve();
			});
		});
	}

	#isDone(session: LocalSession, { isProgramGone }: OwnRecord): boolean {
		const isNeeded = this.#server !== undefined && !this.#isQuitting;
		// What the program left behind must still be found by a kill, and only its minder knows all of it.
		return isEnded(session.state) && !isNeeded && isProgramGone;
	}

	#existing(): LocalSession {
		invariant(this.#session, "a call to a keeper without a session");
		return this.#session;
	}
}

/** What the caller is told when a session's place on disk can't be made. */
function asRefusal(error: unknown, directory: string): unknown {
	const code = (error as NodeJS.ErrnoException).code;
	if (error instanceof SessionError || code === undefined) return error;
	if (code === "ENOSPC" || code === "EDQUOT") {
		return new SessionError("limit_exceeded", `the disk is full (${code}): ${directory} can't be written`, {
			hint: "free some space, or ask for a session that is not durable",
			cause: error,
		});
	}
	return new SessionError("limit_exceeded", `${directory} can't be written (${code})`, { cause: error });
}
