/** Says that something is held until somebody approves it: who waits for it would take that for a program that hangs. */

import { setTimeout as pause } from "node:timers/promises";
import type { ApprovalMessage, Client } from "../client/index.ts";
import { formatDuration } from "../protocol/units.ts";
import { remark } from "./output.ts";

/** When it is looked for, in milliseconds from one look to the next: what is held is so from its beginning on, so that it is there soon or never. */
const LOOKS_MS = [500, 1_500, 3_000];

/** What an act on a session comes to; if that takes a while because it is held, it is said once. */
export async function orSayHeld<Result>(
	client: Pick<Client, "approvals" | "me">,
	session: string,
	act: Promise<Result>,
): Promise<Result> {
	const over = new AbortController();
	const { signal } = over;
	void sayHeld(client, session, signal).catch(() => {
		// It is over, or whoever answers does not answer this: the act itself says what is wrong.
	});
	try {
		return await act;
	} finally {
		over.abort();
	}
}

async function sayHeld(client: Pick<Client, "approvals" | "me">, session: string, signal: AbortSignal): Promise<void> {
	for (const ms of LOOKS_MS) {
		await pause(ms, undefined, { signal });
		const held = (await client.approvals.list({ signal })).filter((one) => one.session.id === session);
		if (held.length === 0) continue;
		const { id } = await client.me({ signal });
		const ours = held.findLast(({ by }) => by.id === id);
		if (!ours || signal.aborted) continue;
		remark(`this waits ${heldSentence(ours, Date.now())}`);
		return;
	}
}

/** How it goes on. */
export function heldSentence({ id, expiresAt }: ApprovalMessage, now: number): string {
	const left = formatDuration(Math.max(0, expiresAt - now));
	return `to be approved, for ${left} at most: hawser approve ${id}, by somebody who may`;
}
