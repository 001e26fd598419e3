/** What the files of the native front share. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, RawServerDefault } from "fastify";
import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session.ts";
import type { Sessions } from "../../core/sessions.ts";
import type { Hosting, Prepare } from "../front.ts";

export type NativeParts = {
	readonly sessions: Sessions;
	readonly prepare: Prepare;
	/** What `/healthz` says we are. */
	readonly version: string;
};

export type NativeApp = FastifyInstance<
	RawServerDefault,
	IncomingMessage,
	ServerResponse,
	FastifyBaseLogger,
	TypeBoxTypeProvider
>;

export function findSession(sessions: Sessions, id: string): Session {
	const session = sessions.get(id);
	if (!session) throw new SessionError("session_not_found", `there is no session ${JSON.stringify(id.slice(0, 64))}`);
	return session;
}

/** Aborted when the client of this request is gone, or when the server closes; to be disposed of by who waits on it. */
export type Patience = { readonly signal: AbortSignal; end(): void };

export function patienceOf(reply: FastifyReply, hosting: Hosting): Patience {
	const controller = new AbortController();
	const abort = () => controller.abort();
	if (hosting.closing.aborted || reply.raw.destroyed) abort();
	hosting.closing.addEventListener("abort", abort, { once: true });
	// The response is closed when it is sent, too: by then nobody waits any more.
	reply.raw.once("close", abort);
	return {
		signal: controller.signal,
		end() {
			hosting.closing.removeEventListener("abort", abort);
			reply.raw.removeListener("close", abort);
			abort();
		},
	};
}
