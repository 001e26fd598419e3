/** What a caller may do here. What may not be seen is not there; each route says that in its own words. */

import type { FastifyRequest } from "fastify";
import { SessionError } from "../../core/errors.ts";
import type { Place, Right } from "../front.ts";

/** Where everything of this protocol lives: its clients know of no other place. */
export const workspace = "default";

export function may(request: FastifyRequest, right: Right, place: Place = { workspace }): boolean {
	return request.principal?.may(right, place) === true;
}

/** For something that may be seen. */
export function checkMay(request: FastifyRequest, right: Right, place: Place = { workspace }): void {
	if (may(request, right, place)) return;
	throw new SessionError("permission_denied", `this token may not ${right} ${place.session ?? "sessions here"}`);
}
