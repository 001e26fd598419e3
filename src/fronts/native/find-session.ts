/** Finds the session and the caller of a request. */

import type { FastifyRequest } from "fastify";
import type { Operation } from "../../api/schema/operation.ts";
import { SessionError } from "../../core/errors.ts";
import type { Principal } from "../../core/policy/access.ts";
import type { Session } from "../../core/session/session.ts";
import type { Sessions } from "../../core/session/session-registry.ts";
import { auditedCallerOf, checkRight, hasRight } from "../../http/caller.ts";
import type { SessionResource } from "../../http/limits/readers.ts";

/**
 * The session of a request, if the caller has the right. Without the right to read it, the error is that of an unknown
 * session.
 */
export function findSession(sessions: Sessions, request: FastifyRequest, right: Operation["right"]): Session {
	const { id } = request.params as { id: string };
	const session = sessions.get(id);
	const place = { workspace: session?.spec.workspace ?? "", session: id };
	if (!session || !hasRight(request, "read", place)) {
		throw new SessionError("session_not_found", `there is no session ${JSON.stringify(id.slice(0, 64))}`);
	}
	if (right === "operate" || right === "manage") checkRight(request, right, place);
	return auditedCallerOf(request).session(session);
}

/** The resource that a right on a session applies to. */
export function resourceOf({ id, spec }: Session): SessionResource {
	return { workspace: spec.workspace, session: id };
}

/** The caller of an operation that is not public. */
export function principalOf({ principal }: Pick<FastifyRequest, "principal">): Principal {
	if (principal) return principal;
	throw new SessionError("unauthenticated", "a token is required");
}
