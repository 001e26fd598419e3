/** The clients of one exec-server that are connected, or may come back. */

import { RpcError, rpcCodes } from "../json-rpc/error.ts";
import type { ProcessesOptions } from "./processes/processes.ts";
import { ExecSession } from "./session.ts";

type ExecSessionsOptions = ProcessesOptions & { readonly newUuid: () => string };

export class ExecSessions {
	readonly #options: ExecSessionsOptions;
	readonly #sessions = new Map<string, ExecSession>();
	/** Those without a connection, in the order in which they lost it. */
	readonly #waiting = new Set<ExecSession>();

	constructor(options: ExecSessionsOptions) {
		this.#options = options;
	}

	create(owner: string): ExecSession {
		const id = this.#options.newUuid();
		const session = new ExecSession({
			...this.#options,
			id,
			owner,
			onWaiting: (isWaiting) => this.#setWaiting(session, isWaiting),
			onExpired: () => void this.#end(session),
		});
		this.#sessions.set(id, session);
		return session;
	}

	/** The session of a client that comes back. */
	find(id: string, owner: string): ExecSession {
		const session = this.#sessions.get(id);
		if (session?.owner === owner) return session;
		throw new RpcError(rpcCodes.invalidRequest, `unknown session id ${id}`);
	}

	/** Ends every session and every process of it. */
	async end(): Promise<void> {
		await Promise.all([...this.#sessions.values()].map((session) => this.#end(session)));
	}

	#setWaiting(session: ExecSession, isWaiting: boolean): void {
		this.#waiting.delete(session);
		if (isWaiting) this.#waiting.add(session);
		const [longest] = this.#waiting;
		if (longest !== undefined && this.#waiting.size > this.#options.limits.detachedSessions) void this.#end(longest);
	}

	async #end(session: ExecSession): Promise<void> {
		this.#sessions.delete(session.id);
		this.#waiting.delete(session);
		await session.end();
	}
}
