/** Bash sessions: a directory and an environment that pass from one run to the next, and what the runs printed. */

import type { Clock } from "../../../core/clock.ts";
import { SessionError } from "../../../core/errors.ts";
import { Log } from "../../../core/log.ts";
import type { Session } from "../../../core/session.ts";
import type { Witness } from "../../../core/witness.ts";
import type { OpenSandboxOptions } from "../options.ts";

/** What is kept of a session's output. */
const LOG_BYTES = 1024 * 1024;
/** How many sessions there may be; one more is refused, because each may hold as much as its log. */
const MAX_SESSIONS = 1_000;

/** The long-lived shell that a WebSocket starts. It is no run: what one does is never seen in the other. */
export interface LongLivedShell {
	/** Whether its process runs now. */
	readonly isAlive: boolean;
	/** Undefined until it is started. */
	readonly session: Session | undefined;
	/** Ends its whole tree, at once, for somebody or for us; resolves when nothing of it is left. */
	end(witness?: Witness): Promise<void>;
}

/** One run, from before its process is there until nothing of it is followed any more. */
export class Run {
	/** Undefined when it could not be started, of which others hear. */
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

	/** Ends the whole tree, for somebody or for us; one that is only being started, as soon as it is there. */
	async kill(witness?: Witness): Promise<void> {
		const session = await this.#starting;
		if (session) await (witness?.session(session) ?? session).kill({ signal: "SIGKILL" });
	}

	async interrupt(graceMs: number, witness: Witness): Promise<void> {
		const session = await this.#starting;
		if (session) await witness.session(session).kill({ signal: "SIGTERM", graceMs });
	}
}

export class BashSession {
	readonly id: string;
	/** What its runs and its shell printed, by byte offsets that only grow. It never ends. */
	readonly log: Log;
	/** Where the next run starts, and with which variables. Of two runs at once, the one that ends last leaves its own. */
	cwd: string;
	env: Readonly<Record<string, string>>;
	/** Every run that goes on, and every one that is being started. */
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

	/** Of everything that runs in it. */
	get sessions(): readonly Session[] {
		return [...this.runs, this.shell].flatMap((one) => one?.session ?? []);
	}

	/** Ends everything that runs in it, and what is being started at this moment, for who may. */
	async close(witness: Witness): Promise<void> {
		this.#closing.abort();
		await Promise.all([...[...this.runs].map((run) => run.kill(witness)), this.shell?.end(witness)]);
	}
}

export class BashSessions {
	readonly #sessions = new Map<string, BashSession>();
	readonly #options: Pick<OpenSandboxOptions, "newUuid" | "clock">;

	constructor(options: Pick<OpenSandboxOptions, "newUuid" | "clock">) {
		this.#options = options;
	}

	create(cwd: string, env: Readonly<Record<string, string>>): BashSession {
		if (this.#sessions.size >= MAX_SESSIONS)
			throw new SessionError("limit_exceeded", `there are ${MAX_SESSIONS} bash sessions, which is the limit`);
		const { newUuid, clock } = this.#options;
		const session = new BashSession(newUuid(), cwd, env, clock);
		this.#sessions.set(session.id, session);
		return session;
	}

	get(id: string): BashSession | undefined {
		return this.#sessions.get(id);
	}

	/** Forgets the session at once, for who may end it; resolves when nothing of it runs. */
	async delete(session: BashSession, witness: Witness): Promise<void> {
		this.#sessions.delete(session.id);
		await session.close(witness);
	}
}
