/** Runs an action on several sessions. A failure does not stop the others. */

import type { Session, SessionMessage } from "../../client/index.ts";
import { toUserError } from "../print/errors.ts";
import { printNotice } from "../print/output.ts";
import { withApprovalNotice } from "./approval-notice.ts";
import { findServer, type WorkspaceFlags } from "./find-server.ts";
import { findSession } from "./find-session.ts";

export async function forEachSession(
	wanted: readonly string[],
	flags: WorkspaceFlags,
	action: (session: Session, info: SessionMessage) => Promise<void>,
): Promise<void> {
	const { client } = await findServer(flags);
	for (const name of wanted) {
		try {
			const info = await findSession(client, name, flags);
			await withApprovalNotice(client, info.id, action(client.sessions.at(info.id), info));
		} catch (error) {
			const explained = toUserError(error);
			if (!explained) throw error;
			printNotice(explained.message);
			process.exitCode = explained.exitCode;
		}
	}
}
