/** What whoever works with a session is told of those who had control of it meanwhile. */

import { SessionError } from "../core/errors.ts";
import type { Session } from "../core/session.ts";
import type { ControlSince, Takeover } from "../core/takeovers.ts";

/** `call` is the same for a repeat of a call, so that what it was told is told again. */
export async function controlSince(session: Session, caller: string, call: string): Promise<ControlSince> {
	try {
		return await session.controlSince(caller, call);
	} catch (error) {
		// A keeper of an older version does not know.
		if (!(error instanceof SessionError) || error.code !== "unsupported") throw error;
		return { fence: (await session.info()).lease.fence, takeovers: [] };
	}
}

/** For who reads it by the line. */
export function takeoverLine({ from, to, commands }: Takeover): string {
	return `[a person had control: bytes ${from}–${to}, ${commands} ${commands === 1 ? "command" : "commands"}]`;
}
