/** Calls over a WebSocket that type, wait and read: each is answered when its wait ends, and forgotten with the connection. */

import type { Principal } from "../../../core/access.ts";
import { SessionError } from "../../../core/errors.ts";
import type { Session } from "../../../core/session.ts";
import type { Witness } from "../../../core/witness.ts";
import { limits } from "../../../protocol/messages.ts";
import type { SendMessage } from "../../../protocol/socket.ts";
import { crowded } from "../../answer-bytes.ts";
import { type Hosting, takeReader } from "../../front.ts";
import { placeOf } from "../request.ts";
import type { Sends } from "../sending.ts";
import type { SocketControl } from "./control.ts";
import type { SocketInput } from "./input.ts";
import type { SocketLimits } from "./limits.ts";
import type { Wire } from "./wire.ts";

type SocketSendsOptions = {
	readonly wire: Wire;
	readonly limits: SocketLimits;
	readonly principal: Principal;
	readonly witness: Witness;
	readonly hosting: Pick<Hosting, "readers" | "answers">;
	readonly sends: Sends;
	readonly input: SocketInput;
	readonly control: SocketControl;
	readonly fail: (error: unknown) => void;
};

export class SocketSends {
	readonly #session: Session;
	readonly #options: SocketSendsOptions;
	#underWay = 0;

	constructor(session: Session, options: SocketSendsOptions) {
		this.#session = session;
		this.#options = options;
	}

	/** Types in order with what was said before it. What comes after it is typed after it, and need not wait for its end. */
	add(message: SendMessage): void {
		const { input, limits } = this.#options;
		const { text = "", keys = [] } = message.input;
		const bytes = text.length + keys.length;
		if (this.#underWay >= limits.sends) {
			const what = `${limits.sends} calls to send are under way on this connection`;
			this.#refuse(
				message.id,
				new SessionError("limit_exceeded", what, { hint: "wait for the answer of one of them" }),
			);
			return;
		}
		const refusal = input.inTurn(bytes, () => this.#typed(message));
		if (refusal) this.#refuse(message.id, refusal);
		else this.#underWay++;
	}

	/** Resolves when it is typed, or is not going to be. */
	#typed(message: SendMessage): Promise<void> {
		return new Promise((resolve) => {
			void this.#make(message, resolve).finally(() => {
				this.#underWay--;
				resolve();
			});
		});
	}

	async #make({ id, stream, position, input }: SendMessage, onTyped: () => void): Promise<void> {
		const { wire, principal: caller, witness, hosting, control, sends } = this.#options;
		const { limit = limits.textBytes } = input;
		let held = 0;
		let leave = () => {};
		try {
			leave = takeReader({ principal: caller, witness }, placeOf(this.#session), hosting, "read");
			held = hosting.answers.take(caller, limit);
			if (held < limit) throw crowded();
			// One of its own: a connection has any number of them, one after the other.
			const signal = AbortSignal.any([wire.ended]);
			const { fence, holder } = control;
			const request = { input, caller, key: { stream, position }, fence, holder, signal, onTyped };
			wire.say({ type: "sent", id, answer: await sends.make(this.#session, request) });
		} catch (error) {
			this.#refuse(id, error);
		} finally {
			hosting.answers.giveBack(caller, held);
			leave();
		}
	}

	#refuse(id: string, thrown: unknown): void {
		const { wire, fail } = this.#options;
		if (wire.ended.aborted) return;
		const { code, message, hint } = SessionError.from(thrown);
		if (code === "internal") fail(thrown);
		else wire.say({ type: "error", id, code, message, ...(hint === undefined ? {} : { hint }) });
	}
}
