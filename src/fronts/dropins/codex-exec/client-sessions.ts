/** The sessions of clients that are connected or may reconnect. */

import { RpcError, rpcCodes } from "../../json-rpc/errors.ts";
import { ClientSession } from "./client-session.ts";
import type { ProcessesOptions } from "./processes/processes.ts";

type ExecSessionsOptions = ProcessesOptions & { readonly newUuid: () => string };

export class ExecSessions {
	readonly #options: ExecSessionsOptions;
	readonly #sessions = new Map<string, ClientSession>();
	/** Sessions without a connection, in the order they lost it. */
	readonly #waiting = new Set<ClientSession>();

	constructor(options: ExecSessionsOptions) {
		this.#options = options;
	}

	create(owner: string): ClientSession {
		const id = this.#options.newUuid();
		const session = new ClientSession({
			...this.#options,
			id,
			owner,
			onWaiting: (isWaiting) => this.#setWaiting(session, isWaiting),
			onExpired: () => void this.#end(session),
		});
		this.#sessions.set(id, session);
		return session;
	}

	/** The session of a client that reconnects. */
	find(id: string, owner: string): ClientSession {
		const session = this.#sessions.get(id);
		if (session?.owner === owner) return session;
		throw new RpcError(rpcCodes.invalidRequest, `unknown session id ${id}`);
	}

	/** Ends all sessions and their processes. */
	async end(): Promise<void> {
		await Promise.all([...this.#sessions.values()].map((session) => this.#end(session)));
	}

	#setWaiting(session: ClientSession, isWaiting: boolean): void {
		this.#waiting.delete(session);
		if (isWaiting) this.#waiting.add(session);
		const [longest] = this.#waiting;
		if (longest !== undefined && this.#waiting.size > this.#options.limits.detachedSessions) void this.#end(longest);
	}

	async #end(session: ClientSession): Promise<void> {
		this.#sessions.delete(session.id);
		this.#waiting.delete(session);
		await session.end();
	}
}
