/** Chooses the flow with which a caller may read. */

import type { FollowOptions } from "../../core/log/cursor.ts";
import type { Principal } from "../../core/policy/access.ts";
import type { Session } from "../../core/session/session.ts";

/**
 * Only a caller that may operate a session may block its program. For others, lossless reading covers only what memory
 * and the journal still have, with gaps for the rest.
 */
export function allowedFlow(
	principal: Principal | null,
	{ id, spec }: Session,
	wanted: "lossless" | "live",
): Pick<FollowOptions, "flow"> {
	const mayHold = principal?.may("operate", { workspace: spec.workspace, session: id }) === true;
	return wanted === "live" || mayHold ? { flow: wanted } : {};
}
