/** Notifies a client when the program waits for input, when shell commands begin and end, and when actions are held. */

import { retryWhileUnreachable } from "../../../core/async/retry.ts";
import type { Principal } from "../../../core/policy/access.ts";
import { type Approval, type Approvals, mayKnow } from "../../../core/policy/approvals.ts";
import type { Session } from "../../../core/session/session.ts";
import { untilProgramWaits, waitMessage } from "../../../services/attention/program-state.ts";
import { commandMessage } from "../../../services/feed/shell-commands.ts";
import type { AttachWire } from "./wire.ts";

/** Runs until the connection or the program ends. Sessions that can't report something are skipped. */
export async function reportActivity(
	session: Session,
	wire: AttachWire,
	report: (problem: unknown) => void,
): Promise<void> {
	await Promise.all([reportWaits(session, wire, report), reportCommands(session, wire, report)]);
}

/** Reports held actions, then new ones and decisions, until the connection ends. */
export function reportApprovals(session: Session, wire: AttachWire, approvals: Approvals, principal: Principal): void {
	const send = (approval: Approval) => {
		if (approval.session.id === session.id && mayKnow(principal, approval)) wire.say({ type: "approval", approval });
	};
	for (const approval of approvals.heldOn(session.id)) send(approval);
	wire.ended.addEventListener("abort", approvals.watch(send), { once: true });
}

/** Starts with the current wait, if there is one. */
async function reportWaits(session: Session, wire: AttachWire, report: (problem: unknown) => void): Promise<void> {
	let known = 0;
	await retryWhileUnreachable(wire.ended, report, async () => {
		const { state, episode, isWaiting } = await untilProgramWaits(session, known, wire.ended);
		if (wire.ended.aborted || !isWaiting) return true;
		known = episode;
		const { type, offset, prompt, program = null, kind: awaited = "" } = waitMessage(state);
		wire.say(type === "ready" ? { type, offset, prompt, program } : { type, offset, prompt, program, awaited });
		return false;
	});
}

async function reportCommands(session: Session, wire: AttachWire, report: (problem: unknown) => void): Promise<void> {
	let known: number | null = null;
	await retryWhileUnreachable(wire.ended, report, async () => {
		const { events, count } = await session.commandEvents(known, wire.ended);
		for (const { phase, command } of events) wire.say({ type: "command", phase, command: commandMessage(command) });
		known = count;
		return wire.ended.aborted;
	});
}
