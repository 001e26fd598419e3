/** Sessions that must not outlive their owner, such as a connection. */

import { SessionError } from "../../core/errors.ts";
import { isEnded } from "../../core/log/session-state.ts";
import type { Session } from "../../core/session/session.ts";
import type { Sessions } from "../../core/session/session-registry.ts";

type SessionScopeOptions = {
	readonly sessions: Sessions;
	/** Whether processes that a program left behind end with its session; by default they survive. */
	readonly endsLeavings?: boolean;
	/** Reports a session that could not be ended or removed, since no request is left to answer. */
	readonly report: (problem: unknown) => void;
};

export class SessionScope {
	readonly #options: SessionScopeOptions;
	readonly #sessions = new Set<Session>();
	#isEnded = false;

	constructor(options: SessionScopeOptions) {
		this.#options = options;
	}

	/** Starts a session that ends with this scope, even if the scope ends during the start. */
	async start(launch: () => Promise<Session>): Promise<Session> {
		this.#checkOpen();
		const session = await launch();
		this.#sessions.add(session);
		if (this.#isEnded) void this.remove(session);
		this.#checkOpen();
		return session;
	}

	/** Kills the session at once, without the usual grace period, and removes it. Never rejects. */
	async remove(session: Session): Promise<void> {
		const { sessions, endsLeavings = false, report } = this.#options;
		this.#sessions.delete(session);
		try {
			// Uses the session itself, since the client is gone and this must not wait for an approval.
			const ended = sessions.get(session.id) ?? session;
			if (endsLeavings || !isEnded(session.state)) await ended.kill({ signal: "SIGKILL", graceMs: 0 });
			await sessions.forget(session.id);
		} catch (error) {
			report(error);
		}
	}

	/** Removes all remaining sessions in parallel; resolves when all are gone. */
	async end(): Promise<void> {
		this.#isEnded = true;
		await Promise.all([...this.#sessions].map((session) => this.remove(session)));
	}

	#checkOpen(): void {
		if (this.#isEnded)
			throw new SessionError("session_closed", "the client that requested this program has disconnected");
	}
}
