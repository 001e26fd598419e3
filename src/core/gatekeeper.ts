/** Stands between callers who have a gate and sessions: gives each its guard, and keeps the lines that all of them type. */

import type { Bearer } from "./access.ts";
import type { Gate } from "./gate.ts";
import { Guard, type GuardOptions } from "./guard.ts";
import type { Session } from "./session.ts";
import { TypedLine } from "./typed-line.ts";

type GatekeeperOptions = Pick<GuardOptions, "approvals" | "judge" | "digest" | "clock"> & {
	/** Whether a session was there before this process: what was typed into it by then is not known. */
	readonly isOlder: (session: Session) => boolean;
};

export class Gatekeeper {
	readonly #options: GatekeeperOptions;
	/** Of all callers with gates together, so that none can begin a line that another ends. */
	readonly #lines = new WeakMap<Session, TypedLine>();

	constructor(options: GatekeeperOptions) {
		this.#options = options;
	}

	/** For who has a gate. */
	guard(bearer: Bearer, gate: Gate, call: Pick<GuardOptions, "gone" | "onHold">): Guard {
		return new Guard({ ...this.#options, ...call, bearer, gate, lineOf: (session) => this.#lineOf(session) });
	}

	#lineOf(session: Session): TypedLine {
		const { mode } = session.spec;
		const line = this.#lines.get(session) ?? new TypedLine({ mode, isBegun: this.#options.isOlder(session) });
		this.#lines.set(session, line);
		return line;
	}
}
