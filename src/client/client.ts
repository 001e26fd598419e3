/** A server's sessions, from any program that can make HTTP requests. */

import type { CreateSession, Info, SessionList, SessionMessage, SessionState } from "../protocol/messages.ts";
import type { ActOptions } from "./attachment.ts";
import { Session } from "./session.ts";
import { type ConnectOptions, Transport } from "./transport.ts";
import { type WorkspacesClient, workspacesAt } from "./workspaces.ts";

export type ListFilter = {
	readonly state?: readonly SessionState[];
	readonly workspace?: string;
	readonly task?: string;
	/** Each is `key` or `key=value`, and all must hold. */
	readonly label?: readonly string[];
};

export interface Client {
	/** What the server is and can do on its machine. */
	info(options?: ActOptions): Promise<Info>;
	readonly sessions: {
		/** Starts a program. */
		create(request: CreateSession, options?: ActOptions): Promise<Session>;
		/** Every session, oldest first. */
		list(filter?: ListFilter, options?: ActOptions): Promise<SessionMessage[]>;
		/** Throws `session_not_found` when there is none. */
		get(id: string, options?: ActOptions): Promise<Session>;
		/** The session of this id, without asking whether it exists. */
		at(id: string): Session;
	};
	readonly workspaces: WorkspacesClient;
}

/** Makes no request yet: the first one shows whether the server is there. */
export function connect(options: ConnectOptions): Client {
	const transport = new Transport(options);
	return {
		async info({ signal } = {}) {
			const response = await transport.request({ path: "/v1/info", signal });
			return (await response.json()) as Info;
		},
		sessions: {
			async create(request, { signal } = {}) {
				const response = await transport.request({ method: "POST", path: "/v1/sessions", json: request, signal });
				const { id } = (await response.json()) as SessionMessage;
				return new Session(transport, id);
			},
			list: (filter = {}, options = {}) => listAll(transport, filter, options),
			async get(id, options) {
				const session = new Session(transport, id);
				await session.info(options);
				return session;
			},
			at: (id) => new Session(transport, id),
		},
		workspaces: workspacesAt(transport),
	};
}

async function listAll(transport: Transport, filter: ListFilter, { signal }: ActOptions): Promise<SessionMessage[]> {
	const all: SessionMessage[] = [];
	let after: string | undefined;
	do {
		const response = await transport.request({
			path: "/v1/sessions",
			query: { ...filter, after, limit: 1000 },
			signal,
		});
		const page = (await response.json()) as SessionList;
		all.push(...page.sessions);
		after = page.next ?? undefined;
	} while (after !== undefined);
	return all;
}
