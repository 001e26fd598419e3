/** A session whose screen is checked right before each write: after all approvals, and before the first byte. */

import type { Operation, OperationRequest, Operations } from "../../core/session/operations.ts";
import type { Session } from "../../core/session/session.ts";
import { WrappedSession } from "../../core/session/wrapped-session.ts";

export class CheckedSession extends WrappedSession {
	readonly #check: () => Promise<void>;

	/** `check` rejects if nothing may be typed now. */
	constructor(session: Session, check: () => Promise<void>) {
		super(session);
		this.#check = check;
	}

	async ask<Name extends Operation>(
		request: OperationRequest<Name>,
		signal?: AbortSignal,
	): Promise<Operations[Name]["answer"]> {
		const { do: name, ...rest } = request as OperationRequest;
		const isWrite = name === "act" && "act" in rest && rest.act.kind === "write";
		if (isWrite) await this.#check();
		return this.session.ask(request, signal);
	}
}
