/** The clients attached to a session by WebSocket, with the state that they share. */

import type { AttachedMessage } from "../../api/types.ts";
import { Listeners } from "../../core/async/listeners.ts";
import type { Session } from "../../core/session/session.ts";
import { QueryAnswerers } from "./query-answerers.ts";
import { SizeArbiter } from "./sizes.ts";

/** A client's connection as `SessionAttachments` uses it. */
export type AttachedClient = {
	/** Ends the attachment. The client reads the reason. */
	detach(reason: string): void;
};

export type SessionAttachments = {
	readonly all: Map<AttachedClient, AttachedMessage>;
	/** The client that typed last. Until one types, the client that acted first. */
	writer: AttachedClient | undefined;
	readonly answerers: QueryAnswerers;
	readonly sizes: SizeArbiter;
};

export class Attachments {
	readonly #sessions = new Map<string, SessionAttachments>();
	readonly #watchers = new Listeners<string>();

	get(id: string): SessionAttachments | undefined {
		return this.#sessions.get(id);
	}

	/** Calls back with a session's id when a client attaches or leaves, until the returned function is called. */
	watch(listener: (id: string) => void): () => void {
		return this.#watchers.add(listener);
	}

	/** Adds a client until `leave` is called. */
	add(
		session: Session,
		client: AttachedClient,
		message: AttachedMessage,
	): { readonly attached: SessionAttachments; readonly leave: () => void } {
		const attached: SessionAttachments = this.#sessions.get(session.id) ?? {
			all: new Map(),
			writer: undefined,
			answerers: new QueryAnswerers(session),
			sizes: new SizeArbiter(session),
		};
		this.#sessions.set(session.id, attached);
		attached.all.set(client, message);
		const leave = () => {
			attached.all.delete(client);
			if (attached.writer === client) attached.writer = undefined;
			if (attached.all.size === 0) this.#sessions.delete(session.id);
			this.#watchers.notify(session.id);
		};
		this.#watchers.notify(session.id);
		return { attached, leave };
	}
}
