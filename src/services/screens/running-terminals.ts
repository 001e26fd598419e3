/** Runs a task for the terminal of each running program, from its start (or the server's) to its end. */

import type { Clock } from "../../core/async/clock.ts";
import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session/session.ts";
import type { Sessions } from "../../core/session/session-registry.ts";
import type { Code } from "../../words/error-code.ts";

/** Temporary errors after which a terminal is attended again. */
const PASSING: ReadonlySet<Code> = new Set(["node_unavailable", "limit_exceeded"]);
/** Retry delay after the keeper could not be reached. */
const RETRY_MS = 5_000;

type RunningTerminalsOptions = {
	readonly sessions: Sessions;
	readonly clock: Clock;
	/**
	 * Resolves, or rejects with a `SessionError`, when nothing is left to do for the session. After `node_unavailable` and
	 * `limit_exceeded`, which are temporary, it is called again.
	 */
	readonly attend: (session: Session, signal: AbortSignal) => Promise<void>;
	/** Reports internal errors. */
	readonly report: (problem: unknown) => void;
};

export class RunningTerminals {
	readonly #options: RunningTerminalsOptions;
	/** One per running session. */
	readonly #attended = new Map<string, AbortController>();
	readonly #unwatch: () => void;

	constructor(options: RunningTerminalsOptions) {
		this.#options = options;
		this.#unwatch = options.sessions.watch(({ kind, session }) => {
			if (kind === "removed" || session.state.status !== "running") this.#leave(session.id);
			else this.#join(session);
		});
		for (const session of options.sessions.list()) this.#join(session);
	}

	close(): void {
		this.#unwatch();
		for (const id of [...this.#attended.keys()]) this.#leave(id);
	}

	#join(session: Session): void {
		const isRunning = session.spec.mode === "pty" && session.state.status === "running";
		if (!isRunning || this.#attended.has(session.id)) return;
		const controller = new AbortController();
		this.#attended.set(session.id, controller);
		this.#attend(session, controller.signal);
	}

	#attend(session: Session, signal: AbortSignal): void {
		this.#options.attend(session, signal).catch((error: unknown) => {
			if (signal.aborted) return;
			// The session has ended, or its keeper is too old to support this.
			if (!(error instanceof SessionError)) return this.#options.report(error);
			if (!PASSING.has(error.code)) return;
			const cancel = this.#options.clock.after(RETRY_MS, () => this.#attend(session, signal));
			signal.addEventListener("abort", cancel, { once: true });
		});
	}

	#leave(id: string): void {
		this.#attended.get(id)?.abort();
		this.#attended.delete(id);
	}
}
