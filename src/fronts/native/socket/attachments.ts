/** Everybody who is attached to a session by a WebSocket, and what they decide together. */

import { Listeners } from "../../../core/listeners.ts";
import type { Session } from "../../../core/session.ts";
import type { AttachedMessage } from "../../../protocol/messages.ts";
import { Answerers } from "./answerers.ts";
import { Sizes } from "./sizes.ts";
import type { Wire } from "./wire.ts";

export type Attached = {
	readonly all: Map<Wire, AttachedMessage>;
	/** Who typed last: until somebody does, whoever was first to take part otherwise. */
	writer: Wire | undefined;
	readonly answerers: Answerers;
	readonly sizes: Sizes;
};

export class Attachments {
	readonly #sessions = new Map<string, Attached>();
	readonly #watchers = new Listeners<string>();

	get(id: string): Attached | undefined {
		return this.#sessions.get(id);
	}

	/** Calls back with the id of a session when somebody comes to it or leaves, until the returned function is called. */
	watch(listener: (id: string) => void): () => void {
		return this.#watchers.add(listener);
	}

	/** Adds one, until the returned function is called. */
	add(
		session: Session,
		wire: Wire,
		message: AttachedMessage,
	): { readonly attached: Attached; readonly leave: () => void } {
		const attached: Attached = this.#sessions.get(session.id) ?? {
			all: new Map(),
			writer: undefined,
			answerers: new Answerers(session),
			sizes: new Sizes(session),
		};
		this.#sessions.set(session.id, attached);
		attached.all.set(wire, message);
		const leave = () => {
			attached.all.delete(wire);
			if (attached.writer === wire) attached.writer = undefined;
			if (attached.all.size === 0) this.#sessions.delete(session.id);
			this.#watchers.tell(session.id);
		};
		this.#watchers.tell(session.id);
		return { attached, leave };
	}
}
