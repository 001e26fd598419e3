/** What a request names, and who makes it. */

import type { FastifyRequest } from "fastify";
import type { Principal } from "../../core/access.ts";
import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session.ts";
import type { Sessions } from "../../core/sessions.ts";
import { checkRight, may, witnessOf } from "../front.ts";
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
