/** The start and end offsets of a session's output, for callers that need them. */

import type { SessionMessage } from "../../api/types.ts";
import { HawserError } from "../errors.ts";

/** Throws `node_unavailable` if the server does not know them; an end of zero would make a reader start over. */
export function offsetsOf({
	id,
	offsets,
}: Pick<SessionMessage, "id" | "offsets">): NonNullable<SessionMessage["offsets"]> {
	if (offsets) return offsets;
	throw new HawserError("node_unavailable", `session "${id}" is unreachable: its keeper is not responding`, {
		hint: "try again; the session keeps running",
	});
}
