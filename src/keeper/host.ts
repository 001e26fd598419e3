/** A keeper's half of the work: owns one session and serves it to whichever server is in charge. */

import { findDescendants } from "../backends/kill.ts";
import { createSpawn } from "../backends/spawn.ts";
import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import type { Item } from "../core/event.ts";
import { LocalSession } from "../core/local-session.ts";
import type { Spawn } from "../core/process.ts";
import { isEnded, type State } from "../core/state.ts";
import { Journal } from "../journal/journal.ts";
import type { Follow, KeeperQuestion, Opening } from "../link/messages.ts";
import { journalDirectory, type KeeperRecord, removeRecord, type SessionRecord, writeRecord } from "../link/record.ts";
import { trimMemory } from "../native/addon.ts";
import type { Control } from "./server-link.ts";
import { tidyAfterFloods } from "./tidy.ts";

export type HostOptions = {
	readonly clock: Clock;
	readonly self: KeeperRecord;
	/** Hears of our own bugs and of failing disks. */
	readonly report: (problem: unknown) => void;
	/** Nothing is left to do. */
	readonly onDone: () => void;
};

type OwnRecord = { readonly directory: string; readonly content: Omit<SessionRecord, "version"> };

export class Host {
	readonly #options: HostOptions;
	readonly #spawn: Spawn;
	#session: LocalSession | undefined;
	#journal: Journal | undefined;
	#record: OwnRecord | undefined;
	#control: Control | undefined;
	/** The start of a session that is under way. */
	#opening: Promise<unknown> | undefined;
	#isQuitting = false;
	#isLeaving = false;
	#isLeaveDue = false;

	constructor(options: HostOptions) {
		this.#options = options;
		this.#spawn = createSpawn({ ownsAllDescendants: true });
		// After the spawn's own handler, so that what has ended is reaped when we look.
		process.on("SIGCHLD", () => void this.#leaveIfDone());
	}

	get sessionId(): string | null {
		return this.#session?.id ?? null;
	}

	get state(): State | null {
		return this.#session?.state ?? null;
	}

	/** A server is in charge now; the one before is told that it no longer is. */
	attach(control: Control): void {
		this.#control?.supersede();
		this.#control = control;
	}

	/** A server is gone. Its session goes on; a spare has nothing to wait for. */
	async detach(control: Control): Promise<void> {
		if (control !== this.#control) return;
		this.#control = undefined;
		// A session that is being started may be there in a moment, and must not be left without its keeper.
		await this.opened();
		if (this.#control) return;
		this.#session?.abandonLease();
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
			case "quit":
				return this.#quit(question.force);
			default:
				return this.#existing().ask(question, signal);
		}
	}

	async #receipt(call: Extract<Question, { do: "receipt" }>, signal: AbortSignal): Promise<Receipt> {
		const session = this.#existing();
		for await (const receipt of session.receipts(call.stream, signal)) {
			if (receipt.written > call.after || (call.isCrowded === true && receipt.room > 0)) return receipt;
		}
		return session.receipt(call.stream);
	}

	follow(call: Follow, signal: AbortSignal): AsyncIterable<Item> {
		const { start, flow } = call;
		return this.#existing().follow(start, flow === null ? { signal } : { signal, flow });
	}

	/** Starts the session. If that fails nothing of it is left, and this keeper can serve another. */
	async #open({ start, directory, fsync }: Opening): Promise<void> {
		if (this.#session) throw new Error(`invariant: this keeper has session ${this.#session.id} already`);
		const { clock, self, report } = this.#options;
		const { spec, command } = start;
		const record = { spec, size: command.size, keeper: self };
		let session: LocalSession | undefined;
		try {
			// On disk before the program runs: whatever happens from here on, a server will find it.
			await writeRecord(directory, { ...record, pid: null, ended: null });
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
			session = await LocalSession.start(start, {
				spawn: this.#spawn,
				clock,
				archive: this.#journal,
				onFailure: report,
			});
			session.watch((state) => this.#announce(state));
			tidyAfterFloods(session.log, clock, trimMemory).catch(report);
			const { pid } = await session.info();
			this.#record = { directory, content: { ...record, pid, ended: null } };
			await writeRecord(directory, this.#record.content);
			this.#session = session;
			// What happened until now was told before the server could know what it belongs to.
			this.#announce(session.state);
		} catch (error) {
			await session?.kill();
			await this.#journal?.close();
			this.#journal = undefined;
			await removeRecord(directory);
			throw asRefusal(error, directory);
		}
	}

	async #quit(force: boolean): Promise<void> {
		this.#isQuitting = true;
		if (force) this.#options.onDone();
		else await this.#leaveIfDone();
	}

	#announce(state: State): void {
		this.#control?.announce(state);
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
		} finally {
			this.#isLeaving = false;
		}
	}

	async #leave(session: LocalSession, journal: Journal, record: OwnRecord): Promise<boolean> {
		if (!(await this.#isDone(session))) return false;
		while (journal.end.seq < session.log.end.seq) await session.log.archived();
		// A server may have come meanwhile: a full disk can make this a long time.
		if (!(await this.#isDone(session))) return false;
		await journal.close();
		await writeRecord(record.directory, { ...record.content, ended: session.state });
		this.#options.onDone();
		return true;
	}

	async #isDone(session: LocalSession): Promise<boolean> {
		const isNeeded = this.#control !== undefined && !this.#isQuitting;
		if (!isEnded(session.state) || isNeeded) return false;
		// What the program left behind must still be found by a kill, and only its keeper knows all of it.
		return (await findDescendants()).length === 0;
	}

	#existing(): LocalSession {
		if (!this.#session) throw new Error("invariant: a call to a keeper without a session");
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
