/** A session whose screen is checked right before each write: after all approvals, and before the first byte. */

import type { Receipt } from "../../core/input/action.ts";
import type { FollowOptions } from "../../core/log/cursor.ts";
import type { Item, Start } from "../../core/log/event.ts";
import type { State } from "../../core/log/session-state.ts";
import type { Operation, OperationRequest, Operations } from "../../core/session/operations.ts";
import { Session } from "../../core/session/session.ts";

export class CheckedSession extends Session {
	readonly #session: Session;
	readonly #check: () => Promise<void>;

	/** `check` rejects if nothing may be typed now. */
	constructor(session: Session, check: () => Promise<void>) {
		super(session.spec);
		this.#session = session;
		this.#check = check;
	}

	get gone(): Promise<void> {
		return this.#session.gone;
	}

	get state(): State {
		return this.#session.state;
	}

	watch(listener: (state: State) => void): () => void {
		return this.#session.watch(listener);
	}

	follow(start: Start, options?: FollowOptions): AsyncIterable<Item> {
		return this.#session.follow(start, options);
	}

	receipts(stream: string, signal?: AbortSignal): AsyncIterable<Receipt> {
		return this.#session.receipts(stream, signal);
	}

	async ask<Name extends Operation>(
		request: OperationRequest<Name>,
		signal?: AbortSignal,
	): Promise<Operations[Name]["answer"]> {
		const { do: name, ...rest } = request as OperationRequest;
		const isWrite = name === "act" && "act" in rest && rest.act.kind === "write";
		if (isWrite) await this.#check();
		return this.#session.ask(request, signal);
	}
}
