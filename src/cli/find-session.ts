/** Finds the session a user means: by id, by name, by the beginning of an id, or the most recent one. */

import { type Client, HawserError, type SessionMessage } from "../client/index.ts";
import { UsageError } from "./errors.ts";
import type { WorkspaceFlags } from "./find-server.ts";

/** Among those that may be seen, or those of a workspace. */
export async function findSession(
	client: Client,
	wanted: string | undefined,
	{ workspace }: Pick<WorkspaceFlags, "workspace"> = {},
): Promise<SessionMessage> {
	const sessions = await client.sessions.list(workspace === undefined ? {} : { workspace });
	if (wanted === undefined) {
		const latest = sessions.at(-1);
		if (!latest) throw new HawserError("session_not_found", "there are no sessions");
		return latest;
	}
	const byId = sessions.find(({ id }) => id === wanted);
	if (byId) return byId;
	const byName = sessions.filter(({ name }) => name === wanted);
	const running = byName.filter(({ state }) => state === "running");
	// A name may be used again once its session has ended; the one that runs is meant then.
	const found = running.length > 0 ? running : byName;
	if (found.length > 0) return only(found, `sessions named ${JSON.stringify(wanted)}`);
	const byPrefix = wanted === "" ? [] : sessions.filter(({ id }) => id.startsWith(wanted));
	if (byPrefix.length > 0) return only(byPrefix, `sessions whose id begins with ${wanted}`);
	throw new HawserError("session_not_found", `there is no session ${JSON.stringify(wanted)}`);
}

function only(candidates: readonly SessionMessage[], what: string): SessionMessage {
	const [first, second] = candidates;
	if (first && !second) return first;
	throw new UsageError(`there are ${candidates.length} ${what}: ${candidates.map(({ id }) => id).join(", ")}`);
}
