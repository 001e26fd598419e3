/** How the sessions of a test's own server end when the test is over. */

import type { Session } from "../../src/core/session.ts";
import type { Sessions } from "../../src/core/sessions.ts";

/** Ends and removes sessions without asking their programs: some would use up all their grace time. */
export async function endAll(sessions: Sessions, which: readonly Session[] = sessions.list()): Promise<void> {
	const end = async (session: Session) => {
		await session.kill({ signal: "SIGKILL", graceMs: 0 });
		await sessions.remove(session.id);
	};
	await Promise.all(which.map(end));
}
