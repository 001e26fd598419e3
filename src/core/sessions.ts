/** The collection of sessions that fronts work on. */

import { SessionError } from "./errors.ts";
import type { Fact } from "./event.ts";
import { Listeners } from "./listeners.ts";
import type { KillOptions } from "./process.ts";
import type { Retention, Session, SessionSpec, SessionStart } from "./session.ts";
import { isEnded } from "./state.ts";
import type { WorkspaceRules } from "./workspaces.ts";

export interface Sessions {
	/** Starts a program. Rejects with `spawn_failed`, `session_exists`, `limit_exceeded` or `unsupported`, and leaves nothing behind then. */
	create(start: SessionStart): Promise<Session>;
	/** Takes in a session that has ended elsewhere, with all that happened in it; the last fact is its end. Rejects with `limit_exceeded`, or `unsupported` where nothing is kept, and leaves nothing behind then. */
	keep(spec: SessionSpec, facts: AsyncIterable<TimedFact>): Promise<Session>;
	get(id: string): Session | undefined;
	/** Resolves when no start of it is under way: a program may ask for its own session before we have heard that it runs. */
	settled(id: string): Promise<void>;
	/** Newest last. */
	list(): readonly Session[];
	/**
	 * Kills the tree if it runs, then forgets the session and everything kept of it. With `force`, also when whoever
	 * keeps it does not answer: the keeper is ended then, and the tree is killed without being asked first.
	 */
	remove(id: string, options?: { readonly by?: string | undefined; readonly force?: boolean }): Promise<void>;
	/** Forgets a session that has ended, and everything kept of it. What its program left behind lives on. */
	forget(id: string): Promise<void>;
	/** Gives a session another name, or none. Rejects with `session_exists` when a running one of its workspace has it. */
	rename(id: string, name: string | null): Promise<void>;
	/** Calls back in the same turn as a session is created, changes its state or its name, or is removed, until the returned function is called. */
	watch(listener: (change: SessionsChange) => void): () => void;
}

/** A fact, and when it was one, in milliseconds since the epoch. */
export type TimedFact = Fact & { readonly time: number };

export type SessionsChange = { readonly kind: "created" | "changed" | "removed"; readonly session: Session };

/** Where sessions live: starts them there, and forgets what was kept of them. */
export interface Home {
	start(start: SessionStart): Promise<Session>;
	/** Takes in one that has ended elsewhere. */
	keep(spec: SessionSpec, facts: AsyncIterable<TimedFact>): Promise<Session>;
	/** Called once the session has ended, or by force. Nothing of one that was killed may be left; of others, whatever lives on may. */
	forget(session: Session, how: Forgetting): Promise<void>;
	/** Remembers another name of it for whoever comes after this process. */
	rename(session: Session, name: string | null): Promise<void>;
	/** By how much what is kept of all sessions is too large for one more; zero or less if it is not. */
	excessBytes(): Promise<number>;
	/** What is kept of one that has ended. */
	keptBytes(session: Session): Promise<number>;
}

export type Forgetting = {
	readonly isKilled: boolean;
	/** Whoever keeps it need not agree. */
	readonly isForced?: boolean;
};

/**
 * How much of its past one session may ask to have kept, unless the server says otherwise: a large
 * scrollback in memory and a long build's log on disk, but not all of the machine's memory or disk.
 */
export const MAX_RETENTION: Retention = { memoryBytes: 64 * 1024 ** 2, journalBytes: 4 * 1024 ** 3 };

export type LocalSessionsOptions = {
	/** For sessions that outlive the server, and for those that need not. */
	readonly homes: { readonly durable: Home; readonly transient: Home };
	/** How many programs may run at a time; one more is refused. */
	readonly maxRunning: number;
	/** How many of them may belong to one workspace; all, unless it is said. */
	readonly maxPerWorkspace?: number;
	/** What each workspace allows besides; everything, when left out. */
	readonly workspaces?: WorkspaceRules;
	/** How many ended sessions are kept to be read; the oldest is forgotten for one more. */
	readonly maxEnded: number;
	/** How much may be kept of one; a start that asks for more is refused. */
	readonly maxRetention?: Retention;
	/** Hears of what went wrong while forgetting a session, which is nobody's request. */
	readonly onFailure?: (error: unknown) => void;
};

/** The sessions of one node. */
export class LocalSessions implements Sessions {
	readonly #options: LocalSessionsOptions;
	readonly #sessions = new Map<string, Session>();
	/** Starts under way, which count as running, so that a burst can't pass the limit or share a name. */
	readonly #starting = new Map<SessionSpec, Promise<Session>>();
	/** Sessions that are being forgotten. */
	readonly #dropping = new Map<string, Promise<void>>();
	readonly #watchers = new Listeners<SessionsChange>();
	#ending: Promise<void> | undefined;

	constructor(options: LocalSessionsOptions) {
		this.#options = options;
	}

	/** Takes in a session that runs already: one that was there before us, or that we started. */
	adopt(session: Session): void {
		this.#sessions.set(session.id, session);
		session.watch(() => {
			// Not after it was said to be removed.
			if (this.#sessions.get(session.id) === session) this.#watchers.tell({ kind: "changed", session });
		});
	}

	async create(start: SessionStart): Promise<Session> {
		const { spec } = start;
		if (this.#ending !== undefined) throw new SessionError("node_unavailable", "the server is shutting down");
		this.#checkRetention(spec.retention);
		this.#checkLimits(spec.workspace);
		this.#checkName(spec);
		if (this.#sessions.has(spec.id)) {
			throw new SessionError("session_exists", `there is a session "${spec.id}" already`);
		}
		this.#checkRate(spec.workspace);
		return this.#add(spec, async (home) => home.start(await this.#placed(start)));
	}

	async keep(spec: SessionSpec, facts: AsyncIterable<TimedFact>): Promise<Session> {
		if (this.#ending !== undefined) throw new SessionError("node_unavailable", "the server is shutting down");
		this.#checkRetention(spec.retention);
		this.#checkRate(spec.workspace);
		return this.#add(spec, (home) => home.keep(spec, facts));
	}

	get(id: string): Session | undefined {
		return this.#sessions.get(id);
	}

	async settled(id: string): Promise<void> {
		const [, starting] = [...this.#starting].find(([spec]) => spec.id === id) ?? [];
		// Whoever asked for the start hears why it failed.
		await starting?.catch(() => {});
	}

	list(): readonly Session[] {
		return [...this.#sessions.values()].sort((a, b) => a.spec.createdAt - b.spec.createdAt);
	}

	async remove(id: string, { by, force = false }: Parameters<Sessions["remove"]>[1] = {}): Promise<void> {
		const session = this.#sessions.get(id);
		if (!session) return;
		const isAsked = !force || !session.spec.durable;
		if (isAsked) await session.kill({ reason: "killed", ...(by === undefined ? {} : { by }) });
		await this.#drop(session, { isKilled: true, isForced: !isAsked });
	}

	async forget(id: string): Promise<void> {
		const session = this.#sessions.get(id);
		if (session && isEnded(session.state)) await this.#drop(session, { isKilled: false });
	}

	async rename(id: string, name: string | null): Promise<void> {
		const session = this.#sessions.get(id);
		if (!session || session.spec.name === name) return;
		if (!isEnded(session.state)) this.#checkName({ ...session.spec, name });
		const former = session.spec.name;
		// At once, so that nobody else gets the name meanwhile.
		session.rename(name);
		try {
			await this.#homeOf(session.spec.durable).rename(session, name);
		} catch (error) {
			session.rename(former);
			throw error;
		}
		this.#watchers.tell({ kind: "changed", session });
	}

	watch(listener: (change: SessionsChange) => void): () => void {
		return this.#watchers.add(listener);
	}

	/**
	 * Starts no more, and ends what can't outlive this process, with all that its programs left behind: each by itself,
	 * so that one that is slow or can't be ended keeps no other. What is only being started is waited for, and ended as
	 * soon as it is there. Everybody who asks waits for the same end.
	 */
	endTransient(how: KillOptions = {}): Promise<void> {
		this.#ending ??= this.#endEach({ reason: "killed", by: "server", ...how });
		return this.#ending;
	}

	#add(spec: SessionSpec, make: (home: Home) => Promise<Session>): Promise<Session> {
		const adding = this.#addTo(this.#homeOf(spec.durable), spec, make).finally(() => this.#starting.delete(spec));
		this.#starting.set(spec, adding);
		return adding;
	}

	async #addTo(home: Home, spec: SessionSpec, make: (home: Home) => Promise<Session>): Promise<Session> {
		await this.#makeRoom(home);
		await this.#makeRoomInWorkspace(spec);
		// As late as can be: what is allowed now may lead elsewhere in a moment.
		const session = await make(home);
		this.adopt(session);
		this.#watchers.tell({ kind: "created", session });
		this.#forgetOldest();
		return session;
	}

	async #endEach(how: KillOptions): Promise<void> {
		const end = async (session: Session) => {
			if (!session.spec.durable) await session.kill(how);
		};
		// Whoever asked for a start hears why it failed.
		const endStarted = (starting: Promise<Session>) => starting.then(end, () => {});
		const endings = [...this.list().map(end), ...[...this.#starting.values()].map(endStarted)];
		for (const ending of await Promise.allSettled(endings)) {
			if (ending.status === "rejected") this.#options.onFailure?.(ending.reason);
		}
	}

	/** Two may do so at once, and wait for the same end. What could not be done is there to be done again. */
	async #drop(session: Session, how: Forgetting): Promise<void> {
		const { id } = session;
		let dropping = this.#dropping.get(id);
		if (!dropping) {
			dropping = this.#homeOf(session.spec.durable)
				.forget(session, how)
				.finally(() => this.#dropping.delete(id));
			this.#dropping.set(id, dropping);
		}
		await dropping;
		if (this.#sessions.delete(id)) this.#watchers.tell({ kind: "removed", session });
	}

	#homeOf(isDurable: boolean): Home {
		return isDurable ? this.#options.homes.durable : this.#options.homes.transient;
	}

	#checkLimits(workspace: string): void {
		const { maxRunning, maxPerWorkspace = maxRunning } = this.#options;
		const running = this.list().filter((session) => !isEnded(session.state));
		const all = running.length + this.#starting.size;
		if (all >= maxRunning) throw tooMany(all, "", "--max-sessions");
		const here =
			running.filter((session) => session.spec.workspace === workspace).length +
			[...this.#starting.keys()].filter((other) => other.workspace === workspace).length;
		if (here >= maxPerWorkspace) throw tooMany(here, ` in workspace "${workspace}"`, "--max-workspace-sessions");
		if (here < (this.#options.workspaces?.get(workspace)?.limits.sessions ?? maxRunning)) return;
		throw new SessionError(
			"limit_exceeded",
			`${here} sessions are running in workspace "${workspace}", which is its limit`,
			{
				hint: "end one, or ask the operator for a higher limit of the workspace",
			},
		);
	}

	/** After all other checks, so that only what is really tried counts. */
	#checkRate(workspace: string): void {
		const waitMs = this.#options.workspaces?.countStart(workspace) ?? 0;
		if (waitMs === 0) return;
		throw new SessionError(
			"limit_exceeded",
			`workspace "${workspace}" starts sessions as fast as it may; the next may come in ${waitMs} ms`,
		);
	}

	#checkRetention(asked: Retention): void {
		const most = this.#options.maxRetention ?? MAX_RETENTION;
		for (const what of ["memoryBytes", "journalBytes"] as const) {
			if (asked[what] <= most[what]) continue;
			throw new SessionError("limit_exceeded", `a session may keep ${what} of ${most[what]}, not of ${asked[what]}`);
		}
	}

	/** A name stands for one running session of its workspace at a time; ended ones may share it, and nobody hears of other workspaces' names. */
	#checkName({ name, workspace }: SessionSpec): void {
		if (name === null) return;
		const running = this.list().filter((session) => !isEnded(session.state));
		const others = [...running.map(({ spec }) => spec), ...this.#starting.keys()];
		if (!others.some((other) => other.name === name && other.workspace === workspace)) return;
		throw new SessionError("session_exists", `a running session is named "${name}" already`, {
			hint: "choose another name, or end that session",
		});
	}

	/** Forgets the oldest ended sessions until what is kept leaves room for one more. */
	async #makeRoom(home: Home): Promise<void> {
		const ended = this.list().filter(({ spec, state }) => isEnded(state) && this.#homeOf(spec.durable) === home);
		let excess = await home.excessBytes();
		for (const session of excess > 0 ? ended : []) {
			// One that can't be forgotten now must not keep the others, or a new one, from having room.
			await this.forget(session.id).catch((error: unknown) => this.#options.onFailure?.(error));
			excess = await home.excessBytes();
			if (excess <= 0) return;
		}
		if (excess <= 0) return;
		throw new SessionError("limit_exceeded", `what is kept of sessions takes ${excess} bytes more than it may`, {
			hint: "end some of those that run, ask for one that is not durable, or start the server with a higher --max-disk",
		});
	}

	/** The same for what the workspace may keep: all that its running sessions may come to count, and what is left of ended ones. */
	async #makeRoomInWorkspace(asking: SessionSpec): Promise<void> {
		const { workspace } = asking;
		const most = this.#options.workspaces?.get(workspace)?.limits.journalBytes;
		if (most === undefined || mostKept(asking) === 0) return;
		const here = this.list().filter(({ spec }) => spec.workspace === workspace);
		const running = here.filter(({ state }) => !isEnded(state)).map(({ spec }) => spec);
		// Of the starts under way those that came before: of two for which there is room for one, one gets it.
		const starting = [...this.#starting.keys()];
		const before = starting.slice(0, starting.indexOf(asking)).filter((spec) => spec.workspace === workspace);
		const taken = [...running, ...before, asking].reduce((bytes, spec) => bytes + mostKept(spec), 0);
		const full = new SessionError(
			"limit_exceeded",
			`journals in workspace "${workspace}" may take ${most} bytes; with this one, those of running sessions may come to ${taken}`,
			{ hint: "ask for a smaller retain.journalBytes, or for a session that is not durable, or end some that run" },
		);
		if (taken > most) throw full;
		const ended = here.filter(({ state }) => isEnded(state));
		const sizes = await Promise.all(ended.map((session) => this.#homeOf(session.spec.durable).keptBytes(session)));
		let excess = taken + sizes.reduce((bytes, size) => bytes + size, 0) - most;
		for (const [index, { id }] of ended.entries()) {
			if (excess <= 0) return;
			await this.forget(id).catch((error: unknown) => this.#options.onFailure?.(error));
			if (!this.#sessions.has(id)) excess -= sizes[index] ?? 0;
		}
		if (excess > 0) throw full;
	}

	/** With the directory where its workspace lets it start. */
	async #placed(start: SessionStart): Promise<SessionStart> {
		const { workspaces } = this.#options;
		const { spec, command } = start;
		const { roots = [] } = workspaces?.get(spec.workspace) ?? {};
		if (!workspaces || roots.length === 0) return start;
		const cwd = await workspaces.admit(spec.workspace, command.cwd);
		return { spec: { ...spec, cwd }, command: { ...command, cwd, isRealCwd: true } };
	}

	#forgetOldest(): void {
		const ended = this.list().filter((session) => isEnded(session.state));
		for (const session of ended.slice(0, Math.max(0, ended.length - this.#options.maxEnded))) {
			this.forget(session.id).catch((error: unknown) => this.#options.onFailure?.(error));
		}
	}
}

/** What a session's journal may come to. */
function mostKept({ durable, retention }: SessionSpec): number {
	return durable ? retention.journalBytes : 0;
}

function tooMany(count: number, where: string, flag: string): SessionError {
	return new SessionError("limit_exceeded", `${count} sessions are running${where}, which is the limit`, {
		hint: `end one, or start the server with a higher ${flag}`,
	});
}
