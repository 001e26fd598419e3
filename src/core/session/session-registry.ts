/** The collection of sessions that services and fronts work on. */

import { Listeners } from "../async/listeners.ts";
import { SessionError } from "../errors.ts";
import type { Fact } from "../log/event.ts";
import { isEnded } from "../log/session-state.ts";
import type { KillOptions } from "../process/process.ts";
import type { Session } from "./session.ts";
import type { Retention, SessionSpec, SessionStart } from "./session-info.ts";
import type { WorkspaceRules } from "./workspaces.ts";

export interface Sessions {
	/**
	 * Starts a program. Rejects with `spawn_failed`, `session_exists`, `limit_exceeded` or `unsupported`, and then leaves
	 * nothing behind.
	 */
	create(start: SessionStart): Promise<Session>;
	/**
	 * Imports a session that ended elsewhere. Its last fact is its end. Rejects with `limit_exceeded`, or with
	 * `unsupported` without a disk, and then leaves nothing behind.
	 */
	keep(spec: SessionSpec, facts: AsyncIterable<TimedFact>): Promise<Session>;
	get(id: string): Session | undefined;
	/**
	 * Resolves when no matching start is pending: a program may ask for its own session before its start is confirmed.
	 */
	settled(isMeant: (spec: SessionSpec) => boolean): Promise<void>;
	/** Newest last. */
	list(): readonly Session[];
	/**
	 * Kills the tree if it runs, then deletes the session and its files. With `force` also if the keeper does not
	 * respond: the keeper is killed then, and the tree with it.
	 */
	remove(id: string, options?: { readonly by?: string | undefined; readonly force?: boolean }): Promise<void>;
	/**
	 * Deletes an ended session and its files: at once, or when the last process that its program left behind is gone.
	 * Until then the session stays, so that a kill can end that process.
	 */
	forget(id: string): Promise<void>;
	/** Sets or clears a session's name. Rejects with `session_exists` when a running session of its workspace has it. */
	rename(id: string, name: string | null): Promise<void>;
	/**
	 * Calls back synchronously when a session is created, removed, or changes its state or name. The returned function
	 * ends this.
	 */
	watch(listener: (change: SessionsChange) => void): () => void;
}

/** A fact and its time in milliseconds since the epoch. */
export type TimedFact = Fact & { readonly time: number };

export type SessionsChange = { readonly kind: "created" | "changed" | "removed"; readonly session: Session };

/** Provides sessions of one kind: starts them, and deletes what was kept of them. */
export interface SessionProvider {
	start(start: SessionStart): Promise<Session>;
	/** Imports a session that ended elsewhere. */
	import(spec: SessionSpec, facts: AsyncIterable<TimedFact>): Promise<Session>;
	/**
	 * Called once the session has ended, or by force. Nothing of a killed session may be left; processes of others may
	 * live on.
	 */
	forget(session: Session, how: RemoveOptions): Promise<void>;
	/** Stores a new name for later servers. */
	rename(session: Session, name: string | null): Promise<void>;
	/** Bytes by which the stored sessions exceed what leaves room for one more; zero or less if there is room. */
	excessBytes(): Promise<number>;
	/**
	 * Bytes that one session takes on disk. The journal of a running session is not included: it counts with its limit.
	 */
	keptBytes(session: Session): Promise<number>;
}

export type RemoveOptions = {
	readonly isKilled: boolean;
	/** The keeper need not confirm. */
	readonly isForced?: boolean;
};

/**
 * Default limit for the retention of one session: enough for a large scrollback in memory and for the log of a long
 * build on disk, but not for all of the machine's memory or disk.
 * @limit output that one session may ask to keep | `limit_exceeded`
 */
export const MAX_RETENTION: Retention = { memoryBytes: 64 * 1024 ** 2, journalBytes: 4 * 1024 ** 3 };

/**
 * At least this many ended sessions may have processes left behind, however few may run.
 * @limit ended sessions with leftover processes; they are never forgotten | as many as may run, at least % | a start
 * is refused with `limit_exceeded`
 */
const LEAST_LINGERING = 32;

export type LocalSessionsOptions = {
	/** Providers of sessions that outlive the server, and of those that do not. */
	readonly homes: { readonly durable: SessionProvider; readonly transient: SessionProvider };
	/** Programs that may run at a time. */
	readonly maxRunning: number;
	/** Programs per workspace. Defaults to `maxRunning`. */
	readonly maxPerWorkspace?: number;
	/** Rules of the workspaces. Without them everything is allowed. */
	readonly workspaces?: WorkspaceRules;
	/** Ended sessions kept for reading. One more deletes the oldest. */
	readonly maxEnded: number;
	/** Limit for the retention that a start may ask for. */
	readonly maxRetention?: Retention;
	/** Reports errors of deletions in the background, which have no caller. */
	readonly onFailure?: (error: unknown) => void;
};

/** The sessions of one node. */
export class SessionRegistry implements Sessions {
	readonly #options: LocalSessionsOptions;
	readonly #sessions = new Map<string, Session>();
	/** Pending starts. They count as running, so that a burst can't exceed a limit or share a name. */
	readonly #starting = new Map<SessionSpec, Promise<Session>>();
	/** Ended sessions with no processes left. */
	readonly #gone = new WeakSet<Session>();
	/** Sessions to delete as soon as they are gone. */
	readonly #forgotten = new WeakSet<Session>();
	/** Pending deletions. */
	readonly #dropping = new Map<string, Promise<void>>();
	readonly #watchers = new Listeners<SessionsChange>();
	#ending: Promise<void> | undefined;

	constructor(options: LocalSessionsOptions) {
		this.#options = options;
	}

	/** Adds a running session: one that we started, or that was there before this server. */
	adopt(session: Session): void {
		this.#sessions.set(session.id, session);
		session.watch(() => {
			// Not after its removal was reported.
			if (this.#sessions.get(session.id) === session) this.#watchers.notify({ kind: "changed", session });
		});
		void session.gone.then(() => {
			this.#gone.add(session);
			if (this.#forgotten.has(session)) this.#forgetInBackground(session.id);
			else this.#forgetOldest();
		});
	}

	async create(start: SessionStart): Promise<Session> {
		const { spec } = start;
		if (this.#ending !== undefined) throw new SessionError("node_unavailable", "the server is shutting down");
		this.#checkRetention(spec.retention);
		this.#checkLimits(spec.workspace);
		this.#checkName(spec);
		if (this.#sessions.has(spec.id)) {
			throw new SessionError("session_exists", `session "${spec.id}" exists already`);
		}
		this.#checkRate(spec.workspace);
		return this.#add(spec, async (home) => home.start(await this.#withWorkspaceRules(start)));
	}

	async keep(spec: SessionSpec, facts: AsyncIterable<TimedFact>): Promise<Session> {
		if (this.#ending !== undefined) throw new SessionError("node_unavailable", "the server is shutting down");
		this.#checkRetention(spec.retention);
		this.#checkRate(spec.workspace);
		return this.#add(spec, (home) => home.import(spec, facts));
	}

	get(id: string): Session | undefined {
		return this.#sessions.get(id);
	}

	async settled(isMeant: (spec: SessionSpec) => boolean): Promise<void> {
		const [, starting] = [...this.#starting].find(([spec]) => isMeant(spec)) ?? [];
		// The caller of create() gets its error.
		await starting?.catch(() => {});
	}

	list(): readonly Session[] {
		return [...this.#sessions.values()].sort((a, b) => a.spec.createdAt - b.spec.createdAt);
	}

	async remove(id: string, { by, force = false }: Parameters<Sessions["remove"]>[1] = {}): Promise<void> {
		const session = this.#sessions.get(id);
		if (!session) return;
		const isAsked = !force || !session.spec.durable;
		if (isAsked) await session.kill({ reason: "killed", ...(by === undefined ? {} : { by }) }).catch(unlessNotFound);
		await this.#drop(session, { isKilled: true, isForced: !isAsked });
	}

	async forget(id: string): Promise<void> {
		const session = this.#sessions.get(id);
		if (!session || !isEnded(session.state)) return;
		if (this.#gone.has(session)) await this.#drop(session, { isKilled: false });
		else this.#forgotten.add(session);
	}

	async rename(id: string, name: string | null): Promise<void> {
		const session = this.#sessions.get(id);
		if (!session || session.spec.name === name) return;
		if (!isEnded(session.state)) this.#checkName({ ...session.spec, name });
		const former = session.spec.name;
		// Rename at once, so that no other session gets the name meanwhile.
		session.rename(name);
		try {
			await this.#homeOf(session.spec.durable).rename(session, name);
		} catch (error) {
			session.rename(former);
			throw error;
		}
		this.#watchers.notify({ kind: "changed", session });
	}

	watch(listener: (change: SessionsChange) => void): () => void {
		return this.#watchers.add(listener);
	}

	/**
	 * Refuses new starts and ends all sessions that can't outlive this process, with everything their programs left
	 * behind. Each ends on its own, so that a slow one does not delay the others. Pending starts are ended when they
	 * complete. All callers wait for the same end.
	 */
	endTransient(how: KillOptions = {}): Promise<void> {
		this.#ending ??= this.#endEach({ reason: "killed", by: "server", ...how });
		return this.#ending;
	}

	#add(spec: SessionSpec, make: (home: SessionProvider) => Promise<Session>): Promise<Session> {
		const adding = this.#addTo(this.#homeOf(spec.durable), spec, make).finally(() => this.#starting.delete(spec));
		this.#starting.set(spec, adding);
		return adding;
	}

	async #addTo(
		home: SessionProvider,
		spec: SessionSpec,
		make: (home: SessionProvider) => Promise<Session>,
	): Promise<Session> {
		await this.#makeRoom(home);
		await this.#makeRoomInWorkspace(spec);
		// As late as possible: the checked directory could be replaced at any time.
		const session = await make(home);
		this.adopt(session);
		this.#watchers.notify({ kind: "created", session });
		this.#forgetOldest();
		return session;
	}

	async #endEach(how: KillOptions): Promise<void> {
		const end = async (session: Session) => {
			if (!session.spec.durable) await session.kill(how);
		};
		// The caller of create() gets the error of a failed start.
		const endStarted = (starting: Promise<Session>) => starting.then(end, () => {});
		const endings = [...this.list().map(end), ...[...this.#starting.values()].map(endStarted)];
		for (const ending of await Promise.allSettled(endings)) {
			if (ending.status === "rejected") this.#options.onFailure?.(ending.reason);
		}
	}

	/** Concurrent calls share one deletion. A failed deletion can be repeated. */
	async #drop(session: Session, how: RemoveOptions): Promise<void> {
		const { id } = session;
		let dropping = this.#dropping.get(id);
		if (!dropping) {
			dropping = this.#homeOf(session.spec.durable)
				.forget(session, how)
				.finally(() => this.#dropping.delete(id));
			this.#dropping.set(id, dropping);
		}
		await dropping;
		if (this.#sessions.delete(id)) this.#watchers.notify({ kind: "removed", session });
	}

	#homeOf(isDurable: boolean): SessionProvider {
		return isDurable ? this.#options.homes.durable : this.#options.homes.transient;
	}

	#checkLimits(workspace: string): void {
		const { maxRunning, maxPerWorkspace = maxRunning } = this.#options;
		const running = this.list().filter((session) => !isEnded(session.state));
		const all = running.length + this.#starting.size;
		if (all >= maxRunning) throw tooMany(maxRunning, "", "--max-sessions");
		this.#checkLingering(workspace);
		const here =
			running.filter((session) => session.spec.workspace === workspace).length +
			[...this.#starting.keys()].filter((other) => other.workspace === workspace).length;
		if (here >= maxPerWorkspace)
			throw tooMany(maxPerWorkspace, ` in workspace "${workspace}"`, "--max-workspace-sessions");
		const limit = this.#options.workspaces?.get(workspace)?.limits.sessions ?? maxRunning;
		if (here < limit) return;
		throw new SessionError(
			"limit_exceeded",
			`too many sessions are running in workspace "${workspace}" (limit ${limit})`,
			{
				hint: "end one, or ask the operator to raise the workspace's limit",
			},
		);
	}

	/** Limits ended sessions with processes left behind, because these are never deleted automatically. */
	#checkLingering(workspace: string): void {
		const { maxRunning, maxPerWorkspace = maxRunning } = this.#options;
		const lingering = this.list().filter((session) => isEnded(session.state) && !this.#gone.has(session));
		const here = lingering.filter(({ spec }) => spec.workspace === workspace);
		const own = this.#options.workspaces?.get(workspace)?.limits.sessions ?? maxPerWorkspace;
		const checks = [
			{ count: lingering.length, most: maxRunning, where: "" },
			{ count: here.length, most: Math.min(own, maxPerWorkspace), where: ` in workspace "${workspace}"` },
		];
		for (const { count, most, where } of checks) {
			const limit = Math.max(most, LEAST_LINGERING);
			if (count < limit) continue;
			throw new SessionError(
				"limit_exceeded",
				`too many ended sessions${where} have left processes running (limit ${limit})`,
				{ hint: "kill or delete some of these sessions" },
			);
		}
	}

	/** Comes after all other checks, so that only real attempts count. */
	#checkRate(workspace: string): void {
		const waitMs = this.#options.workspaces?.countStart(workspace) ?? 0;
		if (waitMs === 0) return;
		throw new SessionError("limit_exceeded", `rate limit of workspace "${workspace}" exceeded; retry in ${waitMs} ms`, {
			hint: `limits.startsPerSecond of the workspace sets the rate`,
			retryAfterMs: waitMs,
		});
	}

	#checkRetention(asked: Retention): void {
		const most = this.#options.maxRetention ?? MAX_RETENTION;
		for (const what of ["memoryBytes", "journalBytes"] as const) {
			if (asked[what] <= most[what]) continue;
			throw new SessionError("limit_exceeded", `${what} of a session may be at most ${most[what]}, not ${asked[what]}`);
		}
	}

	/**
	 * A name belongs to one running session of its workspace at a time. Ended sessions may share it, and names of other
	 * workspaces are not revealed.
	 */
	#checkName({ name, workspace }: SessionSpec): void {
		if (name === null) return;
		const running = this.list().filter((session) => !isEnded(session.state));
		const others = [...running.map(({ spec }) => spec), ...this.#starting.keys()];
		if (!others.some((other) => other.name === name && other.workspace === workspace)) return;
		throw new SessionError("session_exists", `another running session is named "${name}"`, {
			hint: "choose another name, or end that session",
		});
	}

	/** Deletes the oldest ended sessions until there is room on disk for one more. */
	async #makeRoom(home: SessionProvider): Promise<void> {
		const ended = this.#forgettable().filter(({ spec }) => this.#homeOf(spec.durable) === home);
		let excess = await home.excessBytes();
		for (const session of excess > 0 ? ended : []) {
			// If one can't be deleted now, the others still are.
			await this.forget(session.id).catch((error: unknown) => this.#options.onFailure?.(error));
			excess = await home.excessBytes();
			if (excess <= 0) return;
		}
		if (excess <= 0) return;
		throw new SessionError("limit_exceeded", `stored sessions exceed the disk limit by ${excess} bytes`, {
			hint: "end running sessions, kill processes that ended ones left behind, start a session that is not durable, or restart the server with a higher --max-disk",
		});
	}

	/** The same for the limit of the workspace: the journal limits of running sessions plus the size of ended ones. */
	async #makeRoomInWorkspace(asking: SessionSpec): Promise<void> {
		const { workspace } = asking;
		const most = this.#options.workspaces?.get(workspace)?.limits.journalBytes;
		if (most === undefined || mostKept(asking) === 0) return;
		const here = this.list().filter(({ spec }) => spec.workspace === workspace);
		const running = here.filter(({ state }) => !isEnded(state)).map(({ spec }) => spec);
		// Earlier pending starts count. If two compete for one place, the first gets it.
		const starting = [...this.#starting.keys()];
		const before = starting.slice(0, starting.indexOf(asking)).filter((spec) => spec.workspace === workspace);
		const taken = [...running, ...before, asking].reduce((bytes, spec) => bytes + mostKept(spec), 0);
		const full = new SessionError(
			"limit_exceeded",
			`journals in workspace "${workspace}" may take ${most} bytes; with this one, running sessions could use ${taken}`,
			{
				hint: "use a smaller retain.journalBytes or a session that is not durable, end running sessions, or kill processes that ended ones left behind",
			},
		);
		if (taken > most) throw full;
		const sizes = await Promise.all(here.map((session) => this.#homeOf(session.spec.durable).keptBytes(session)));
		let excess = taken + sizes.reduce((bytes, size) => bytes + size, 0) - most;
		for (const [index, session] of here.entries()) {
			if (excess <= 0) return;
			if (!isEnded(session.state) || !this.#gone.has(session)) continue;
			const { id } = session;
			await this.forget(id).catch((error: unknown) => this.#options.onFailure?.(error));
			if (!this.#sessions.has(id)) excess -= sizes[index] ?? 0;
		}
		if (excess > 0) throw full;
	}

	/** Adds the working directory that the workspace allows, and the sandbox that it requires. */
	async #withWorkspaceRules(start: SessionStart): Promise<SessionStart> {
		const { workspaces } = this.#options;
		const { workspace } = start.spec;
		const { roots = [], sandbox = null } = workspaces?.get(workspace) ?? {};
		const required = sandbox === null ? {} : { requiredSandbox: { workspace, policy: sandbox } };
		const command = { ...start.command, ...required };
		if (!workspaces || roots.length === 0) return { ...start, command };
		const cwd = await workspaces.resolveDirectory(workspace, command.cwd);
		return { spec: { ...start.spec, cwd }, command: { ...command, cwd, isRealCwd: true } };
	}

	#forgetOldest(): void {
		if (this.#sessions.size <= this.#options.maxEnded) return;
		const ended = this.#forgettable();
		for (const { id } of ended.slice(0, Math.max(0, ended.length - this.#options.maxEnded))) {
			this.#forgetInBackground(id);
		}
	}

	#forgetInBackground(id: string): void {
		this.forget(id).catch((error: unknown) => this.#options.onFailure?.(error));
	}

	/** Oldest first, without sessions that left processes running: no caller could end these afterwards. */
	#forgettable(): readonly Session[] {
		return this.list().filter((session) => isEnded(session.state) && this.#gone.has(session));
	}
}

/** A session whose directory was deleted has nothing left to end, and must still be removed from the list. */
function unlessNotFound(error: unknown): void {
	if (!(error instanceof SessionError) || error.code !== "session_not_found") throw error;
}

/** The most that a session's journal may take. */
function mostKept({ durable, retention }: SessionSpec): number {
	return durable ? retention.journalBytes : 0;
}

function tooMany(limit: number, where: string, flag: string): SessionError {
	return new SessionError("limit_exceeded", `too many sessions are running${where} (limit ${limit})`, {
		hint: `end one, or restart the server with a higher ${flag}`,
	});
}
