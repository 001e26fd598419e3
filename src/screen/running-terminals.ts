/** Does something for the terminal of each program that runs, from its start or ours to its end. */

import { SessionError } from "../core/errors.ts";
import type { Session } from "../core/session.ts";
import type { Sessions } from "../core/sessions.ts";

type RunningTerminalsOptions = {
	readonly sessions: Sessions;
	/** Resolves, or rejects with a `SessionError`, when there is nothing more to be done for it. */
	readonly attend: (session: Session, signal: AbortSignal) => Promise<void>;
	/** Hears of our own bugs. */
	readonly report: (problem: unknown) => void;
};

export class RunningTerminals {
	readonly #options: RunningTerminalsOptions;
	/** One for each, to its end. */
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
		this.#options.attend(session, controller.signal).catch((error: unknown) => {
			// It has ended, is not to be had, or is kept by somebody who is older and can't be asked for this.
			if (!(error instanceof SessionError)) this.#options.report(error);
		});
	}

	#leave(id: string): void {
		this.#attended.get(id)?.abort();
		this.#attended.delete(id);
	}
}
