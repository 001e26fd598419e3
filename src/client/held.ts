/** Acts that are held until somebody decides, as lists have them: what is wanted, in which session, and how it is decided. */

import type { ApprovalMessage, DecideApproval } from "../protocol/asking.ts";
import type { SessionMessage } from "../protocol/messages.ts";
import type { Listed } from "./attention.ts";
import type { Client } from "./client.ts";
import { HawserError } from "./error.ts";
import { callerName } from "./words.ts";

const VERBS: Readonly<Record<ApprovalMessage["kind"], string>> = {
	start: "start a program",
	run: "run",
	input: "type",
	signal: "send a signal",
	stop: "end the program",
	delete: "delete the session",
};

/** Who wants what. */
export function wantsSentence({ by, kind }: Pick<ApprovalMessage, "by" | "kind">): string {
	return `${callerName(by.name)} wants to ${VERBS[kind]}`;
}

/** Sessions together with those that there will be once somebody approves their start, of which only that is known. */
export function withAwaited(
	sessions: ReadonlyMap<string, SessionMessage>,
	held: readonly ApprovalMessage[],
): SessionMessage[] {
	const awaited = held.filter(({ kind, session }) => kind === "start" && !sessions.has(session.id));
	return [...sessions.values(), ...awaited.map(awaitedSession)];
}

function awaitedSession({ session: { id, name, workspace }, askedAt }: ApprovalMessage): SessionMessage {
	return {
		id,
		name: name ?? id,
		workspace,
		state: "running",
		argv: [],
		cwd: "",
		mode: "pty",
		size: { cols: 0, rows: 0 },
		sizePolicy: "latest",
		pid: null,
		offsets: { oldest: 0, end: 0 },
		exit: null,
		createdAt: askedAt,
		endedAt: null,
		attachments: 0,
		lease: { fence: 0, holder: null, exclusive: false },
		activeAt: null,
		labels: {},
		task: null,
		durable: true,
		retain: { memoryBytes: 0, journalBytes: 0 },
		timeoutMs: 0,
		idleTimeoutMs: 0,
		idleExemptJobs: false,
	};
}

/** Whether its session has written something since it was asked for: what is typed or run then is done only if somebody says that it may be even so. */
export function hasChangedSince({ kind, askedAt }: ApprovalMessage, session: Listed | undefined): boolean {
	return (kind === "run" || kind === "input") && (session?.overview?.lastOutputAt ?? 0) > askedAt;
}

/** Why a decision came too late, if it did: it has ended already, or something else is there by now than what it was for. */
export async function decideHeld(
	{ approvals }: Pick<Client, "approvals">,
	id: string,
	decision: DecideApproval,
): Promise<string | undefined> {
	try {
		const { state, note } = await approvals.decide(id, decision);
		return state === "expired" ? `${note ?? "it has expired"}; who asked is told so, and can ask again` : undefined;
	} catch (error) {
		if (!(error instanceof HawserError)) throw error;
		if (error.code === "conflict") return "it has expired, or somebody else has decided";
		if (error.code === "not_found") return "it is not held any more";
		throw error;
	}
}
