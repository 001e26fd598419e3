/** Creates gate checks for callers, and tracks the lines that they type. */

import type { Session } from "../session/session.ts";
import type { CallerIdentity } from "./access.ts";
import type { Gate } from "./gate.ts";
import { GateCheck, type GuardOptions } from "./gate-check.ts";
import { TypedLine } from "./typed-line.ts";

type GatekeeperOptions = Pick<GuardOptions, "approvals" | "judge" | "digest" | "clock"> & {
	/** Whether a session is older than this process, so that its earlier input is unknown. */
	readonly isOlder: (session: Session) => boolean;
};

export class GateChecks {
	readonly #options: GatekeeperOptions;
	/** Shared by all callers with gates, so that none can begin a line that another one ends. */
	readonly #lines = new WeakMap<Session, TypedLine>();

	constructor(options: GatekeeperOptions) {
		this.#options = options;
	}

	/** The check for a caller with a gate. */
	guard(bearer: CallerIdentity, gate: Gate, call: Pick<GuardOptions, "gone" | "onHold">): GateCheck {
		return new GateCheck({ ...this.#options, ...call, bearer, gate, lineOf: (session) => this.#lineOf(session) });
	}

	#lineOf(session: Session): TypedLine {
		const { mode } = session.spec;
		const line = this.#lines.get(session) ?? new TypedLine({ mode, isBegun: this.#options.isOlder(session) });
		this.#lines.set(session, line);
		return line;
	}
}
