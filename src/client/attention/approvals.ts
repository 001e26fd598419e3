/** Held actions for lists: their titles and sessions, and deciding them. */

import type { ApprovalMessage, DecideApproval, SessionMessage } from "../../api/types.ts";
import type { Client } from "../client.ts";
import { HawserError } from "../errors.ts";
import { callerName } from "./labels.ts";
import type { SessionInfo } from "./needs.ts";

const VERBS: Readonly<Record<ApprovalMessage["kind"], string>> = {
	start: "start a program",
	store: "store a program or its environment",
	run: "run a command",
	input: "type",
	signal: "send a signal",
	stop: "kill the program",
	delete: "delete the session",
	permission: "do this",
};

/** A title such as "agent wants to type". */
export function approvalTitle({ by, kind }: Pick<ApprovalMessage, "by" | "kind">): string {
	return `${callerName(by.name)} wants to ${VERBS[kind]}`;
}

/** The sessions, plus a placeholder for each held start or stored program, which has no session yet. */
export function withPendingStarts(
	sessions: ReadonlyMap<string, SessionMessage>,
	held: readonly ApprovalMessage[],
): SessionMessage[] {
	const awaited = held.filter(
		({ kind, session }) => (kind === "start" || kind === "store") && !sessions.has(session.id),
	);
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

/** Whether the session wrote output since the request. Such input and commands need an explicit confirmation. */
export function hasOutputSince({ kind, askedAt }: ApprovalMessage, session: SessionInfo | undefined): boolean {
	return (kind === "run" || kind === "input") && (session?.overview?.lastOutputAt ?? 0) > askedAt;
}

/** Decides an approval. Resolves with the reason if it came too late: the approval ended, or the session changed. */
export async function decideApproval(
	{ approvals }: Pick<Client, "approvals">,
	id: string,
	decision: DecideApproval,
): Promise<string | undefined> {
	try {
		const { state, note } = await approvals.decide(id, decision);
		return state === "expired" ? `${note ?? "it expired"}; the requester is notified and can ask again` : undefined;
	} catch (error) {
		if (!(error instanceof HawserError)) throw error;
		if (error.code === "conflict") return "it expired or was decided by someone else";
		if (error.code === "not_found") return "it is no longer pending";
		throw error;
	}
}
