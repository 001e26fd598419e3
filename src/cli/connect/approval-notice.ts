/** Reports that an action is held for approval; otherwise the command would seem to hang. */

import { setTimeout as pause } from "node:timers/promises";
import type { ApprovalMessage, Client } from "../../client/index.ts";
import { formatDuration } from "../../words/units.ts";
import { printNotice } from "../print/output.ts";

/** Delays before each check, in milliseconds. An action is held at once or never, so a few checks suffice. */
const CHECK_INTERVALS_MS = [500, 1_500, 3_000];

/** Awaits an action on a session, and prints a notice once if it is held for approval. */
export async function withApprovalNotice<Result>(
	client: Pick<Client, "approvals" | "me">,
	session: string,
	action: Promise<Result>,
): Promise<Result> {
	const over = new AbortController();
	const { signal } = over;
	void reportHeld(client, session, signal).catch(() => {
		// The action has finished, or the server can't list approvals; the action's own error is reported.
	});
	try {
		return await action;
	} finally {
		over.abort();
	}
}

async function reportHeld(
	client: Pick<Client, "approvals" | "me">,
	session: string,
	signal: AbortSignal,
): Promise<void> {
	for (const ms of CHECK_INTERVALS_MS) {
		await pause(ms, undefined, { signal });
		const held = (await client.approvals.list({ signal })).filter((one) => one.session.id === session);
		if (held.length === 0) continue;
		const { id } = await client.me({ signal });
		const ours = held.findLast(({ by }) => by.id === id);
		if (!ours || signal.aborted) continue;
		printNotice(approvalWaitText(ours, Date.now()));
		return;
	}
}

export function approvalWaitText({ id, expiresAt }: ApprovalMessage, now: number): string {
	const left = formatDuration(Math.max(0, expiresAt - now));
	return `waiting for approval (expires in ${left}); approve with: hawser approve ${id}`;
}
