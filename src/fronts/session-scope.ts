/** Sessions that belong to somebody who may go away, such as a connection, and must not outlive that. */

import { SessionError } from "../core/errors.ts";
import type { Session } from "../core/session.ts";
import type { Sessions } from "../core/sessions.ts";
import { isEnded } from "../core/state.ts";

type SessionScopeOptions = {
	readonly sessions: Sessions;
	/** Whether what a program left behind when it ended goes with its session; it lives on, if left out. */
	readonly endsLeavings?: boolean;
	/** Hears of a session that could not be ended or forgotten, which is nobody's request any more. */
	readonly report: (problem: unknown) => void;
};

export class SessionScope {
	readonly #options: SessionScopeOptions;
	readonly #sessions = new Set<Session>();
	#isEnded = false;

	constructor(options: SessionScopeOptions) {
		this.#options = options;
	}

	/** Starts a session that ends with this scope, also when the scope ends before it is there: nobody gets it then. */
	async start(launch: () => Promise<Session>): Promise<Session> {
		this.#checkOpen();
		const session = await launch();
		this.#sessions.add(session);
		if (this.#isEnded) void this.remove(session);
		this.#checkOpen();
		return session;
	}

	/** Ends the session at once, without the time that the core would give it, and forgets it. Never rejects. */
	async remove(session: Session): Promise<void> {
		const { sessions, endsLeavings = false, report } = this.#options;
		this.#sessions.delete(session);
		try {
			// The session itself: this is no act of who has gone, which somebody would have to approve.
			const ended = sessions.get(session.id) ?? session;
			if (endsLeavings || !isEnded(session.state)) await ended.kill({ signal: "SIGKILL", graceMs: 0 });
			await sessions.forget(session.id);
		} catch (error) {
			report(error);
		}
	}

	/** Removes all that is left, each by itself, so that none waits for another; resolves when nothing is. */
	async end(): Promise<void> {
		this.#isEnded = true;
		await Promise.all([...this.#sessions].map((session) => this.remove(session)));
	}

	#checkOpen(): void {
		if (this.#isEnded) throw new SessionError("session_closed", "the client that asked for this program is gone");
	}
}
