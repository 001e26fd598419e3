/** Send-and-wait calls over a WebSocket. Each is answered when its wait ends, and dropped with the connection. */

import { limits } from "../../../api/messages.ts";
import type { SendMessage } from "../../../api/types.ts";
import { SessionError } from "../../../core/errors.ts";
import type { Principal } from "../../../core/policy/access.ts";
import type { AuditedCaller } from "../../../core/policy/audited-caller.ts";
import type { Session } from "../../../core/session/session.ts";
import { addReader } from "../../../http/caller.ts";
import type { ServerContext } from "../../../http/front.ts";
import type { Sender } from "../../../services/input/send.ts";
import { resourceOf } from "../find-session.ts";
import type { SocketLimits } from "../limits.ts";
import type { SocketControl } from "./control.ts";
import type { SocketInput } from "./input.ts";
import type { AttachWire } from "./wire.ts";

type SocketSendsOptions = {
	readonly wire: AttachWire;
	readonly limits: SocketLimits;
	readonly principal: Principal;
	readonly witness: AuditedCaller;
	readonly hosting: Pick<ServerContext, "readers" | "answers">;
	readonly sends: Sender;
	readonly input: SocketInput;
	readonly control: SocketControl;
	readonly fail: (error: unknown) => void;
};

export class SocketSends {
	readonly #session: Session;
	readonly #options: SocketSendsOptions;
	#pending = 0;

	constructor(session: Session, options: SocketSendsOptions) {
		this.#session = session;
		this.#options = options;
	}

	/** Types in order with earlier and later messages; later ones do not wait for the answer. */
	add(message: SendMessage): void {
		const { input, limits } = this.#options;
		const { text = "", keys = [] } = message.input;
		const bytes = text.length + keys.length;
		if (this.#pending >= limits.sends) {
			const what = `too many send calls on this connection (limit ${limits.sends})`;
			this.#refuse(
				message.id,
				new SessionError("limit_exceeded", what, { hint: "wait for the answer of one of them" }),
			);
			return;
		}
		const refusal = input.inTurn(bytes, () => this.#typed(message));
		if (refusal) this.#refuse(message.id, refusal);
		else this.#pending++;
	}

	/** Resolves when the input is typed, or will not be. */
	#typed(message: SendMessage): Promise<void> {
		return new Promise((resolve) => {
			void this.#make(message, resolve).finally(() => {
				this.#pending--;
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
			leave = addReader({ principal: caller, witness }, resourceOf(this.#session), hosting, "read");
			held = hosting.answers.take(caller, limit);
			if (held < limit) throw hosting.answers.refusal(caller);
			// A signal per call, because one connection makes many calls.
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
