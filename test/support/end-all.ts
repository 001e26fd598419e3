/** Ends the sessions of a test's server after the test. */

import type { Session } from "../../src/core/session/session.ts";
import type { Sessions } from "../../src/core/session/session-registry.ts";

/** Ends and removes sessions by force: some programs would use up their grace time. */
export async function endAll(sessions: Sessions, which: readonly Session[] = sessions.list()): Promise<void> {
	const end = async (session: Session) => {
		await session.kill({ signal: "SIGKILL", graceMs: 0 });
		await sessions.remove(session.id);
	};
	await Promise.all(which.map(end));
}
