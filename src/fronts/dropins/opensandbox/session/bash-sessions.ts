/** Bash sessions: a directory and an environment that pass from one run to the next, and a log of the output. */

import type { Clock } from "../../../../core/async/clock.ts";
import { SessionError } from "../../../../core/errors.ts";
import { Log } from "../../../../core/log/log.ts";
import type { AuditedCaller } from "../../../../core/policy/audited-caller.ts";
import type { Session } from "../../../../core/session/session.ts";
import type { OpenSandboxOptions } from "../options.ts";

/** Output kept per session. */
const LOG_BYTES = 1024 * 1024;
/**
 * Each session may hold a full log in memory.
 * @limit bash sessions | 429
 */
const MAX_SESSIONS = 1_000;

/** The long-lived shell that a WebSocket starts. It is separate from runs: neither sees the other's state. */
export interface LongLivedShell {
	/** Whether its process is running. */
	readonly isAlive: boolean;
	/** Undefined until it is started. */
	readonly session: Session | undefined;
	/** Kills its process tree, on behalf of a caller if given; resolves when it is gone. */
	end(witness?: AuditedCaller): Promise<void>;
}

/** One run, from before its start until its output is no longer followed. */
export class Run {
	/** Undefined if the start failed, which the starter reports. */
	readonly #starting: Promise<Session | undefined>;
	#session: Session | undefined;

	constructor(starting: Promise<Session>) {
		this.#starting = starting.then(
			(session) => {
				this.#session = session;
				return session;
			},
			() => undefined,
		);
	}

	/** Undefined until it is started. */
	get session(): Session | undefined {
		return this.#session;
	}

	/** Kills the process tree, on behalf of a caller if given. A run that is being started is killed afterwards. */
	async kill(witness?: AuditedCaller): Promise<void> {
		const session = await this.#starting;
		if (session) await (witness?.session(session) ?? session).kill({ signal: "SIGKILL" });
	}

	async interrupt(graceMs: number, witness: AuditedCaller): Promise<void> {
		const session = await this.#starting;
		if (session) await witness.session(session).kill({ signal: "SIGTERM", graceMs });
	}
}

export class BashSession {
	readonly id: string;
	/** Output of its runs and its shell, with increasing byte offsets. It never ends. */
	readonly log: Log;
	/** Directory and variables of the next run. Set by the run that ended last. */
	cwd: string;
	env: Readonly<Record<string, string>>;
	/** All runs, including those being started. */
	readonly runs: Set<Run> = new Set();
	shell: LongLivedShell | undefined;
	readonly #closing = new AbortController();

	constructor(id: string, cwd: string, env: Readonly<Record<string, string>>, clock: Clock) {
		this.id = id;
		this.log = new Log({ clock, memoryBytes: LOG_BYTES });
		this.cwd = cwd;
		this.env = env;
	}

	/** Aborted when the session is deleted: nothing may be started in it any more. */
	get closing(): AbortSignal {
		return this.#closing.signal;
	}

	/** The sessions of everything that runs in it. */
	get sessions(): readonly Session[] {
		return [...this.runs, this.shell].flatMap((one) => one?.session ?? []);
	}

	/** Ends everything that runs or is being started, on behalf of a caller. */
	async close(witness: AuditedCaller): Promise<void> {
		this.#closing.abort();
		await Promise.all([...[...this.runs].map((run) => run.kill(witness)), this.shell?.end(witness)]);
	}
}

export class BashSessions {
	readonly #sessions = new Map<string, BashSession>();
	readonly #options: Pick<OpenSandboxOptions, "clock">;

	constructor(options: Pick<OpenSandboxOptions, "clock">) {
		this.#options = options;
	}

	create(id: string, cwd: string, env: Readonly<Record<string, string>>): BashSession {
		if (this.#sessions.size >= MAX_SESSIONS)
			throw new SessionError("limit_exceeded", `too many bash sessions (limit ${MAX_SESSIONS})`);
		const session = new BashSession(id, cwd, env, this.#options.clock);
		this.#sessions.set(session.id, session);
		return session;
	}

	get(id: string): BashSession | undefined {
		return this.#sessions.get(id);
	}

	/** Forgets the session immediately; resolves when its processes are gone. */
	async delete(session: BashSession, witness: AuditedCaller): Promise<void> {
		this.#sessions.delete(session.id);
		await session.close(witness);
	}
}
