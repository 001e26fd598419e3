/** What a request names, who makes it, and how long it is worth answering. */

import type { FastifyReply, FastifyRequest } from "fastify";
import type { Principal } from "../../core/access.ts";
import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session.ts";
import type { Sessions } from "../../core/sessions.ts";
import { checkRight, type Hosting, may, witnessOf } from "../front.ts";
import type { ReadPlace } from "../readers.ts";

/** The session that a request names, as its caller has it, if that has the right that the route asks for. One that may not be seen is not there. */
export function findSession(sessions: Sessions, request: FastifyRequest<{ Params: { id: string } }>): Session {
	const { id } = request.params;
	const session = sessions.get(id);
	const place = { workspace: session?.spec.workspace ?? "", session: id };
	if (!session || !may(request, "read", place)) {
		throw new SessionError("session_not_found", `there is no session ${JSON.stringify(id.slice(0, 64))}`);
	}
	const { policy } = request.routeOptions.config;
	if (policy === "operate" || policy === "manage") checkRight(request, policy, place);
	return witnessOf(request).session(session);
}

/** What a right on a session is about. */
export function placeOf({ id, spec }: Session): ReadPlace {
	return { workspace: spec.workspace, session: id };
}

/** Who calls a route whose policy is not `public`. */
export function principalOf({ principal }: Pick<FastifyRequest, "principal">): Principal {
	if (principal) return principal;
	throw new SessionError("unauthenticated", "a token is required");
}

/** Aborted when the client of this request is gone, when its token is revoked, or when the server closes; to be disposed of by who waits on it. */
export type Patience = { readonly signal: AbortSignal; end(): void };

export function patienceOf(reply: FastifyReply, hosting: Hosting): Patience {
	const controller = new AbortController();
	const reasons = [hosting.closing, reply.request.principal?.revoked];
	const end = () => {
		for (const signal of reasons) signal?.removeEventListener("abort", end);
		reply.raw.removeListener("close", end);
		controller.abort();
	};
	for (const signal of reasons) signal?.addEventListener("abort", end, { once: true });
	// The response is closed when it is sent, too: by then nobody waits any more.
	reply.raw.once("close", end);
	if (reply.raw.destroyed || reasons.some((signal) => signal?.aborted)) end();
	return { signal: controller.signal, end };
}
