/** One exec-server: the clients it has, and how a connection becomes one of them. */

import type { Session } from "../../core/session.ts";
import type { Sessions } from "../../core/sessions.ts";
import { checkCreation, type Prepare, type Principal, type StartRequest } from "../front.ts";
import { Connection } from "./connection.ts";
import { defaultLimits, type ExecLimits } from "./limits.ts";
import type { Wire } from "./rpc/wire.ts";
import { ExecSessions } from "./sessions.ts";

export type ExecServerParts = {
	readonly sessions: Sessions;
	readonly prepare: Prepare;
	/** The server's own environment, as far as clients may have it. */
	readonly environment: () => Readonly<Record<string, string>>;
	readonly cwd: string;
	readonly newUuid: () => string;
	/** How many requests of one connection may be under way at once; one after the other, if left out. */
	readonly concurrency?: number;
	readonly limits?: Partial<ExecLimits>;
	/** Hears of our own faults. */
	readonly report: (problem: unknown) => void;
};

export type Caller = {
	readonly principal: Pick<Principal, "id" | "countCreation">;
	/** What its messages come from, for the answer to those that can't be read. */
	readonly source: string;
};

export class ExecServer {
	readonly limits: ExecLimits;
	readonly #parts: ExecServerParts;
	readonly #sessions: ExecSessions;

	constructor(parts: ExecServerParts) {
		this.#parts = parts;
		this.limits = { ...defaultLimits, ...parts.limits };
		const { sessions, newUuid, report } = parts;
		this.#sessions = new ExecSessions({ sessions, newUuid, report, limits: this.limits });
	}

	connect(wire: Wire, { principal, source }: Caller): Connection {
		const { environment, cwd, concurrency = 1, report } = this.#parts;
		const launch = async (request: StartRequest): Promise<Session> => {
			checkCreation(principal.countCreation());
			return this.#parts.sessions.create(this.#parts.prepare(request));
		};
		const { limits } = this;
		const sessions = this.#sessions;
		return new Connection({ wire, source, sessions, principal, launch, environment, cwd, concurrency, limits, report });
	}

	/** Ends every process; resolves when none is left. */
	async close(): Promise<void> {
		await this.#sessions.end();
	}
}
