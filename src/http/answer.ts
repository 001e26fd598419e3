/** Parts of an HTTP answer that routes share: its signal, the event of its end, and the memory its body uses. */

import type { FastifyReply } from "fastify";
import type { SessionError } from "../core/errors.ts";
import type { Principal } from "../core/policy/access.ts";
import type { ServerContext } from "./front.ts";

/** Memory that one answer uses. All of it is given back when the answer closes. */
export type HeldBytes = {
	/** Takes up to `wanted` bytes and returns how many the caller's limits allow. */
	some(wanted: number): number;
	/** Takes `wanted` bytes, or throws `limit_exceeded`. */
	all(wanted: number): void;
	/** The error to throw when `some` returned too few. */
	refusal(): SessionError;
};

export function bytesOf(
	caller: Principal,
	reply: FastifyReply,
	{ answers }: Pick<ServerContext, "answers">,
): HeldBytes {
	let held = 0;
	onAnswerClosed(reply, () => answers.giveBack(caller, held));
	const some = (wanted: number) => {
		// The client has disconnected: `onAnswerClosed` has run already, so bytes taken now would never be given back.
		const taken = reply.raw.destroyed ? 0 : answers.take(caller, wanted);
		held += taken;
		return taken;
	};
	const refusal = () => answers.refusal(caller);
	return {
		some,
		all(wanted) {
			if (some(wanted) < wanted) throw refusal();
		},
		refusal,
	};
}

/** Calls `act` when the answer is sent completely or its client disconnects. */
export function onAnswerClosed({ raw }: FastifyReply, act: () => void): void {
	if (raw.destroyed) act();
	else raw.once("close", act);
}

/** Aborted when the answer closes, the caller's token is revoked, or the server closes. */
export function requestSignal(reply: FastifyReply, hosting: ServerContext): AbortSignal {
	const controller = new AbortController();
	const reasons = [hosting.closing, reply.request.principal?.revoked];
	const end = () => {
		for (const signal of reasons) signal?.removeEventListener("abort", end);
		reply.raw.removeListener("close", end);
		controller.abort();
	};
	for (const signal of reasons) signal?.addEventListener("abort", end, { once: true });
	// `close` also fires after the answer is sent.
	reply.raw.once("close", end);
	if (reply.raw.destroyed || reasons.some((signal) => signal?.aborted)) end();
	return controller.signal;
}
