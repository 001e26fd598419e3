/** A server's sessions, from any program that can make HTTP requests. */

import type { CreateSession, SessionList, SessionMessage, SessionState } from "../protocol/messages.ts";
import { Session } from "./session.ts";
import { type ConnectOptions, Transport } from "./transport.ts";

export type ListFilter = {
	readonly state?: readonly SessionState[];
	readonly workspace?: string;
	/** Each is `key` or `key=value`, and all must hold. */
	readonly label?: readonly string[];
};

export interface Client {
	readonly sessions: {
		/** Starts a program. */
		create(request: CreateSession): Promise<Session>;
		/** Every session, oldest first. */
		list(filter?: ListFilter): Promise<SessionMessage[]>;
		/** Throws `session_not_found` when there is none. */
		get(id: string): Promise<Session>;
		/** The session of this id, without asking whether it exists. */
		at(id: string): Session;
	};
}

/** Makes no request yet: the first one shows whether the server is there. */
export function connect(options: ConnectOptions): Client {
	const transport = new Transport(options);
	return {
		sessions: {
			async create(request) {
				const response = await transport.request({ method: "POST", path: "/v1/sessions", json: request });
				const { id } = (await response.json()) as SessionMessage;
				return new Session(transport, id);
			},
			list: (filter = {}) => listAll(transport, filter),
			async get(id) {
				const session = new Session(transport, id);
				await session.info();
				return session;
			},
			at: (id) => new Session(transport, id),
		},
	};
}

async function listAll(transport: Transport, filter: ListFilter): Promise<SessionMessage[]> {
	const all: SessionMessage[] = [];
	let after: string | undefined;
	do {
		const response = await transport.request({ path: "/v1/sessions", query: { ...filter, after, limit: 1000 } });
		const page = (await response.json()) as SessionList;
		all.push(...page.sessions);
		after = page.next ?? undefined;
	} while (after !== undefined);
	return all;
}
