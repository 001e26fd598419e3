/** What an answer holds of a session's output until it is sent, within what its caller and all may. */

import type { FastifyReply } from "fastify";
import type { Principal } from "../core/access.ts";
import { SessionError } from "../core/errors.ts";
import { type Hosting, whenOver } from "./front.ts";

/** Asks to hold so many bytes more; how many it may be. They are given back once the answer is sent. */
export type HoldBytes = (wanted: number) => number;

export function bytesOf(caller: Principal, reply: FastifyReply, { answers }: Hosting): HoldBytes {
	let held = 0;
	whenOver(reply, () => answers.giveBack(caller, held));
	return (wanted) => {
		// Nobody is left who would give it back.
		const taken = reply.raw.destroyed ? 0 : answers.take(caller, wanted);
		held += taken;
		return taken;
	};
}

export function crowded(): SessionError {
	return new SessionError("limit_exceeded", "too much output is on its way to this token, or to all", {
		hint: "read the answers that are there first, or ask for less with limit",
	});
}
