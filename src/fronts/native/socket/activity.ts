/** Tells a client when the program begins to wait for somebody, when commands of its shell begin and end, and what is held. */

import type { Principal } from "../../../core/access.ts";
import { type Approval, type Approvals, mayKnow } from "../../../core/approvals.ts";
import type { Session } from "../../../core/session.ts";
import { nextWait, waitMessage } from "../../program-state.ts";
import { persist } from "../persist.ts";
import { commandMessage } from "../shell.ts";
import type { Wire } from "./wire.ts";

/** Until the connection, or the program, has ended; what can't be told of a session is not. */
export async function tellActivity(session: Session, wire: Wire, report: (problem: unknown) => void): Promise<void> {
	await Promise.all([tellWaits(session, wire, report), tellCommands(session, wire, report)]);
}

/** What waits to be approved is told first; then what is asked for and decided, until the connection has ended. */
export function tellApprovals(session: Session, wire: Wire, approvals: Approvals, principal: Principal): void {
	const tell = (approval: Approval) => {
		if (approval.session.id === session.id && mayKnow(principal, approval)) wire.say({ type: "approval", approval });
	};
	for (const approval of approvals.heldOn(session.id)) tell(approval);
	wire.ended.addEventListener("abort", approvals.watch(tell), { once: true });
}

/** What waits already is told first. */
async function tellWaits(session: Session, wire: Wire, report: (problem: unknown) => void): Promise<void> {
	let known = 0;
	await persist(wire.ended, report, async () => {
		const { state, episode, isWaiting } = await nextWait(session, known, wire.ended);
		if (wire.ended.aborted || !isWaiting) return true;
		known = episode;
		const { type, offset, prompt, program = null, kind: awaited = "" } = waitMessage(state);
		wire.say(type === "ready" ? { type, offset, prompt, program } : { type, offset, prompt, program, awaited });
		return false;
	});
}

async function tellCommands(session: Session, wire: Wire, report: (problem: unknown) => void): Promise<void> {
	let known: number | null = null;
	await persist(wire.ended, report, async () => {
		const { events, count } = await session.commandNews(known, wire.ended);
		for (const { phase, command } of events) wire.say({ type: "command", phase, command: commandMessage(command) });
		known = count;
		return wire.ended.aborted;
	});
}
