/** The home of durable sessions: starts keepers, keeps some spare, and finds those that were there before. */

import type { FileHandle } from "node:fs/promises";
import { mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { killSurvivors } from "../backends/kill.ts";
import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import type { Mark } from "../core/event.ts";
import { Log } from "../core/log.ts";
import type { Session, SessionStart } from "../core/session.ts";
import type { Home } from "../core/sessions.ts";
import { initialState, type State } from "../core/state.ts";
import { appendLost } from "../journal/journal.ts";
import { openForReading } from "../journal/reader.ts";
import {
	isAlive,
	journalDirectory,
	readRecord,
	removeRecord,
	type SessionRecord,
	writeRecord,
} from "../link/record.ts";
import { type Detached, spawnDetached } from "../native/addon.ts";
import { ArchivedSession } from "./archived-session.ts";
import { type KeeperAddress, KeeperLink, LinkLost } from "./keeper-link.ts";
import { type Caretaker, KeptSession } from "./kept-session.ts";

/** How long a new keeper may take until it answers. */
const START_BUDGET_MS = 10_000;
/** How long the adoption of one session may hold up the start of the server. */
const ADOPT_BUDGET_MS = 2_000;
const ADOPT_AT_A_TIME = 16;
/** Between two tries to reach a keeper that lives but does not answer: at first it may only be on its way out. */
const FIRST_RETRY_MS = 10;
const RETRY_MS = 1_000;
/** Other flags for a small heap were measured to cost more than they save: V8 then does without Node's code cache. */
const NODE_FLAGS = ["--v8-pool-size=0"];

export type KeepersOptions = {
	/** One directory per session goes here. */
	readonly directory: string;
	/** Where keepers listen; its path must leave room for a name within the limit for sockets. */
	readonly socketDirectory: string;
	/** Grows with every start of a server on this directory. */
	readonly generation: number;
	readonly spares: number;
	readonly fsync: "interval" | "always";
	readonly clock: Clock;
	readonly newEpoch: () => string;
	/** What keepers say in trouble is appended here. */
	readonly logFile: string;
	/** Hears of what concerns no caller. */
	readonly report: (problem: unknown) => void;
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

export class Keepers implements Home, Caretaker {
	readonly #options: KeepersOptions;
	readonly #program: string;
	readonly #sessions = new Set<KeptSession>();
	/** Keepers without a session. */
	readonly #spares: KeeperLink[] = [];
	#launching = 0;
	#started = 0;
	#lost = 0;
	#isClosed = false;
	#log: FileHandle | undefined;

	constructor(options: KeepersOptions) {
		this.#options = options;
		this.#program = options.program ?? fileURLToPath(new URL("../keeper/main.js", import.meta.url));
	}

	/** Finds every session that was there before, and makes the first spares. */
	async open(): Promise<Session[]> {
		const { directory, socketDirectory, logFile } = this.#options;
		await mkdir(directory, { recursive: true, mode: 0o700 });
		await mkdir(socketDirectory, { recursive: true, mode: 0o700 });
		this.#log = await open(logFile, "a", 0o600);
		const adopted = await this.#adoptAll();
		this.#refill();
		return adopted;
	}

	async start(start: SessionStart): Promise<Session> {
		for (;;) {
			const spare = this.#spares.shift();
			const link = spare ?? (await this.#launch());
			try {
				return await this.#startIn(link, start);
			} catch (error) {
				// Refused, so the keeper is as unused as before.
				if (!(error instanceof LinkLost)) {
					this.#keepSpare(link);
					throw error;
				}
				await this.#cleanUp(start.spec.id);
				// A spare may have died long ago without our having noticed; a new keeper that dies at once has a reason.
				if (!spare) throw new SessionError("internal", "the session's keeper died while it started", { cause: error });
			} finally {
				// Only now: the start of another keeper would compete with the start of this session.
				this.#refill();
			}
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

	async forget(session: Session, { isKilled }: { readonly isKilled: boolean }): Promise<void> {
		if (session instanceof KeptSession) {
			await session.dismiss();
			this.#sessions.delete(session);
		}
		if (isKilled) await killSurvivors(session.id);
		await removeRecord(this.#directoryOf(session.id));
	}

	/** What an operator may want to watch. */
	async figures(): Promise<KeeperFigures> {
		const { directory } = this.#options;
		const ids = await readdir(directory);
		const sizes = await Promise.all(ids.map((id) => bytesIn(journalDirectory(join(directory, id)))));
		const journalBytes = sizes.reduce((sum, size) => sum + size, 0);
		return { started: this.#started, lost: this.#lost, spares: this.#spares.length, journalBytes };
	}

	/** Lets go of every keeper: sessions go on, spares end by themselves. */
	async close(): Promise<void> {
		this.#isClosed = true;
		for (const session of this.#sessions) session.letGo();
		for (const link of this.#spares.splice(0)) link.close();
		await this.#log?.close();
	}

	passed(point: string): void {
		this.#options.passed?.(point);
	}

	/** Tries again and again while the keeper lives; it is never killed for being silent. */
	async recover(session: KeptSession): Promise<KeeperLink | ArchivedSession> {
		const directory = this.#directoryOf(session.id);
		for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(2 * retryMs, RETRY_MS)) {
			const record = await readRecord(directory);
			if (!record) throw new SessionError("session_not_found", `session "${session.id}" was removed`);
			const found = await this.#reach(record, session.seen);
			if (found) return found;
			await new Promise<void>((resolve) => this.#options.clock.after(retryMs, resolve));
			if (this.#isClosed) throw new SessionError("node_unavailable", "the server is shutting down");
		}
	}

	/** The keeper if it answers, what is left if it is gone, undefined if it lives and is silent. */
	async #reach(record: SessionRecord, seen?: Mark): Promise<KeeperLink | ArchivedSession | undefined> {
		const { generation } = this.#options;
		const { spec, keeper } = record;
		if (record.ended) return this.#archived(record, record.ended);
		try {
			const { link, welcome } = await KeeperLink.connect(keeper, generation, ADOPT_BUDGET_MS);
			if (welcome.session === spec.id) return link;
			link.close();
		} catch (error) {
			if (error instanceof SessionError) throw error;
			if (await isAlive(keeper)) return undefined;
		}
		return this.#markLost(record, seen);
	}

	/** The keeper is gone. If it had not finished, nobody knows what became of the program, and nothing of it may stay. */
	async #markLost(record: SessionRecord, seen: Mark | undefined): Promise<ArchivedSession> {
		const { spec, keeper } = record;
		const directory = this.#directoryOf(spec.id);
		// It may have ended properly between our look at the record and our look at the process.
		const latest = await readRecord(directory);
		if (latest?.ended) return this.#archived(latest, latest.ended);
		this.#lost++;
		await killSurvivors(spec.id);
		await rm(keeper.socket, { force: true });
		const state = await this.#closeJournal(record, seen);
		await writeRecord(directory, { ...record, ended: state }).catch((error: unknown) => this.#options.report(error));
		return this.#archived(record, state, seen);
	}

	/** Writes the last event into a journal that has none, and folds what is there. */
	async #closeJournal({ spec, size, keeper }: SessionRecord, seen: Mark | undefined): Promise<State> {
		const { clock, report } = this.#options;
		const lost: State = { ...initialState(size), status: "lost", endedAt: clock.now() };
		if (spec.retention.journalBytes === 0) return lost;
		const directory = journalDirectory(this.#directoryOf(spec.id));
		try {
			await appendLost(directory, `its keeper (pid ${keeper.pid}) is gone`, clock.now(), seen);
		} catch (error) {
			// Refused for its version, or a full disk: what is there can be read all the same, or is left alone.
			if (error instanceof SessionError) throw error;
			report(new Error(`session ${spec.id}: its journal could not be ended`, { cause: error }));
		}
		const { closed, exited, resized, lost: found } = await (await openForReading(directory)).summary();
		return {
			status: closed ? "closed" : "lost",
			size: resized?.size ?? size,
			exit: exited?.exit ?? null,
			endedAt: exited?.time ?? found?.time ?? lost.endedAt,
		};
	}

	#archived({ spec }: SessionRecord, state: State, seen: Mark = { seq: 1, offset: 0 }): ArchivedSession {
		const { clock } = this.#options;
		return new ArchivedSession(spec, state, async () => {
			const directory = journalDirectory(this.#directoryOf(spec.id));
			const archive = spec.retention.journalBytes > 0 ? await openForReading(directory) : undefined;
			const isFinished = archive?.isFinished ?? false;
			const end = archive && (isFinished || archive.end.seq > seen.seq) ? archive.end : seen;
			const log = new Log({ clock, archive, restored: { end, isFinished } });
			// The last event is missing where nothing could be written any more; readers must see it all the same.
			if (!isFinished) log.append({ kind: "lost", message: "its keeper is gone" });
			return log;
		});
	}

	async #adoptAll(): Promise<Session[]> {
		const ids = await readdir(this.#options.directory);
		const adopted: Session[] = [];
		const next = async (): Promise<void> => {
			for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
				try {
					const session = await this.#adopt(id);
					if (session) adopted.push(session);
				} catch (error) {
					// One session that can't be read must not keep the others, or the server, from working.
					this.#options.report(new Error(`session ${id} is left alone`, { cause: error }));
				}
			}
		};
		await Promise.all(Array.from({ length: ADOPT_AT_A_TIME }, next));
		return adopted;
	}

	async #adopt(id: string): Promise<Session | undefined> {
		const directory = this.#directoryOf(id);
		const record = await readRecord(directory);
		if (!record) {
			await this.#removeUnfinished(directory);
			return undefined;
		}
		const found = await this.#reach(record);
		if (found instanceof ArchivedSession) return found;
		this.passed("adopt.connected");
		const session = new KeptSession(record.spec, initialState(record.size), this);
		if (found) session.connected(found);
		else {
			this.#options.report(new Error(`session ${id}: its keeper (pid ${record.keeper.pid}) lives but does not answer`));
			session.recover();
		}
		this.#sessions.add(session);
		return session;
	}

	/** A directory without a record is what a start leaves that was cut off before its program ran; unless it is still under way. */
	async #removeUnfinished(directory: string): Promise<void> {
		const age = this.#options.clock.now() - (await stat(directory)).mtimeMs;
		if (age > START_BUDGET_MS) await removeRecord(directory);
	}

	/** What a keeper left that died while it opened its session. */
	async #cleanUp(id: string): Promise<void> {
		await killSurvivors(id);
		await removeRecord(this.#directoryOf(id));
	}

	#directoryOf(id: string): string {
		return join(this.#options.directory, id);
	}

	#keepSpare(link: KeeperLink): void {
		if (this.#isClosed || this.#spares.length > this.#options.spares) {
			link.close();
			return;
		}
		link.onClose = () => {
			const index = this.#spares.indexOf(link);
			if (index >= 0) this.#spares.splice(index, 1);
		};
		this.#spares.push(link);
	}

	/** Makes spares in the background until there are enough. */
	#refill(): void {
		while (!this.#isClosed && this.#spares.length + this.#launching < this.#options.spares) {
			this.#launching++;
			this.#launch()
				.then((link) => this.#keepSpare(link), this.#options.report)
				.finally(() => {
					this.#launching--;
				});
		}
	}

	async #launch(): Promise<KeeperLink> {
		const { socketDirectory, newEpoch, generation } = this.#options;
		this.#started++;
		const epoch = newEpoch();
		const socket = join(socketDirectory, `${epoch}.sock`);
		const keeper = spawnDetached({
			argv: [process.execPath, ...NODE_FLAGS, this.#program, socket, epoch],
			env: { PATH: process.env.PATH ?? "" },
			cwd: "/",
			...(this.#log ? { output: this.#log.fd } : {}),
		});
		return reachNew(keeper, { socket, epoch }, generation);
	}
}

/** Connects to a keeper that was just started, as soon as it listens. */
async function reachNew(keeper: Detached, address: KeeperAddress, generation: number): Promise<KeeperLink> {
	let hasEnded = false;
	void keeper.ended.then(() => {
		hasEnded = true;
	});
	const deadline = performance.now() + START_BUDGET_MS;
	for (;;) {
		try {
			return (await KeeperLink.connect(address, generation, START_BUDGET_MS)).link;
		} catch (error) {
			if (error instanceof SessionError) throw error;
			if (hasEnded || performance.now() > deadline) {
				throw new SessionError("internal", "a keeper could not be started; its log in the state directory says why", {
					cause: error,
				});
			}
			await new Promise((resolve) => setTimeout(resolve, 5));
		}
	}
}

/** The size of a journal; nothing for one that is not there, or goes while we look. */
async function bytesIn(directory: string): Promise<number> {
	const names = await readdir(directory).catch(() => []);
	const sizes = await Promise.all(
		names.map((name) =>
			stat(join(directory, name)).then(
				({ size }) => size,
				() => 0,
			),
		),
	);
	return sizes.reduce((sum, size) => sum + size, 0);
}
