/** Does the same to several sessions; one that fails does not keep the others from it. */

import type { Session, SessionMessage } from "../client/index.ts";
import { explain } from "./errors.ts";
import { findServer, type WorkspaceFlags } from "./find-server.ts";
import { findSession } from "./find-session.ts";
import { orSayHeld } from "./held.ts";
import { remark } from "./output.ts";

export async function forEachSession(
	wanted: readonly string[],
	flags: WorkspaceFlags,
	act: (session: Session, info: SessionMessage) => Promise<void>,
): Promise<void> {
	const { client } = await findServer(flags);
	for (const name of wanted) {
		try {
			const info = await findSession(client, name, flags);
			await orSayHeld(client, info.id, act(client.sessions.at(info.id), info));
		} catch (error) {
			const explained = explain(error);
			if (!explained) throw error;
			remark(explained.sentence);
			process.exitCode = explained.exitCode;
		}
	}
}
