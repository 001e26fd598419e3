/** Which sessions need attention, and why. Pure functions of session info and time. */

import { isFailure, isQuestion } from "../../api/attention.ts";
import type { AgentKind, AgentMessage, ApprovalMessage, SessionMessage, Waiting } from "../../api/types.ts";
import { approvalTitle } from "./approvals.ts";

/** A session with its overview, if that is known. */
export type SessionInfo = SessionMessage;

type NeedFor<Kind extends string> = {
	readonly kind: Kind;
	/** Start of the need, in milliseconds since the epoch. */
	readonly since: number;
	/** The program's prompt; for a held action, its title. */
	readonly question: string;
	/** Answers that the prompt offers. */
	readonly choices: readonly string[];
};

export type Need =
	| NeedFor<"secret" | "failed" | "quiet">
	/** With the coding agent whose dialog is open, if there is one. Its choices are in `agent`. */
	| (NeedFor<"asks"> & { readonly agent?: AgentMessage })
	/** A held action; the oldest one of the session. */
	| (NeedFor<"approval"> & { readonly approval: ApprovalMessage });

/** A silence is unusual if it is this many times as long as the usual interval, and at least this long. */
const QUIET_TIMES = 20;
const QUIET_MS = 10 * 60_000;
/** Output within this time counts as current activity. */
const ACTIVE_MS = 5_000;

export function isEnded({ state }: Pick<SessionInfo, "state">): boolean {
	return state !== "running";
}

export function needOf(session: SessionInfo, { now, dismissed, held }: NeedContext): Need | undefined {
	const approval = held.find((one) => one.session.id === session.id);
	if (approval) return approvalNeed(approval);
	if (isEnded(session)) return failureNeed(session, dismissed);
	const { agent, waiting } = session.overview ?? {};
	// The kernel's view of an agent says little: it waits for keys while it works, too.
	if (agent) return agentNeed(agent);
	return waitingNeed(waiting) ?? quietNeed(session, now, dismissed);
}

export type NeedContext = {
	readonly now: number;
	readonly dismissed: ReadonlySet<string>;
	/** Held actions, oldest first. */
	readonly held: readonly ApprovalMessage[];
};

/** Key for a need that the user dismissed. The same silence or failure is not reported again. */
export function dismissalKey(session: SessionInfo): string {
	return isEnded(session) ? session.id : `${session.id}@${session.overview?.lastOutputAt ?? 0}`;
}

function approvalNeed(approval: ApprovalMessage): Need {
	const { askedAt, preview } = approval;
	const question = `${approvalTitle(approval)}: ${preview.trim()}`;
	return { kind: "approval", since: askedAt, question, choices: [], approval };
}

/** Its choices are answered by keys of their own, so they are not offered as text to type. */
function agentNeed(agent: AgentMessage): Need | undefined {
	const { state, kind, question, since } = agent;
	if (state !== "blocked") return undefined;
	return { kind: "asks", since, question: question ?? AGENT_QUESTIONS[kind ?? "question"], choices: [], agent };
}

/** For a dialog whose text is not known. */
const AGENT_QUESTIONS: Readonly<Record<AgentKind, string>> = {
	permission: "asks for permission",
	question: "asks a question",
	trust: "asks for trust",
	login: "asks for a sign-in",
};

function waitingNeed(waiting: Waiting | null | undefined): Need | undefined {
	if (!waiting || !isQuestion(waiting)) return undefined;
	const { kind, prompt, since, choices = [] } = waiting;
	const question = prompt.trim();
	if (kind === "secret") return { kind: "secret", since, question, choices: [] };
	return { kind: "asks", since, question, choices };
}

function failureNeed(session: SessionInfo, dismissed: ReadonlySet<string>): Need | undefined {
	const { exit, endedAt, createdAt, overview } = session;
	if (!exit || !isFailure(session) || dismissed.has(dismissalKey(session))) return undefined;
	return { kind: "failed", since: endedAt ?? createdAt, question: (overview?.lastLine ?? "").trim(), choices: [] };
}

function quietNeed(session: SessionInfo, now: number, dismissed: ReadonlySet<string>): Need | undefined {
	const { lastOutputAt, activeAt, usualIntervalMs, waiting, lastLine } = session.overview ?? {};
	// A program that waits for input, such as a shell at its prompt, is expected to be silent.
	if (waiting || !lastOutputAt || !usualIntervalMs) return undefined;
	// Input begins the time anew: the silence before an answer was a wait.
	const since = Math.max(lastOutputAt, activeAt ?? 0);
	const quietMs = now - since;
	if (quietMs < Math.max(QUIET_MS, QUIET_TIMES * usualIntervalMs)) return undefined;
	if (dismissed.has(dismissalKey(session))) return undefined;
	return { kind: "quiet", since, question: (lastLine ?? "").trim(), choices: [] };
}

const order: Readonly<Record<Need["kind"], number>> = { approval: 0, asks: 1, secret: 2, failed: 3, quiet: 4 };

export type SessionNeed = { readonly session: SessionInfo; readonly need: Need };

/** Approvals first, because only they expire; then questions, then failures. The oldest first within each kind. */
export function compareNeeds(a: SessionNeed, b: SessionNeed): number {
	return order[a.need.kind] - order[b.need.kind] || a.need.since - b.need.since;
}

/** Whether the session wrote output within the last seconds. */
export function isActive(session: SessionInfo, now: number): boolean {
	return !isEnded(session) && now - lastActiveAt(session) < ACTIVE_MS;
}

export function lastActiveAt({ overview, activeAt, createdAt }: SessionInfo): number {
	return overview?.lastOutputAt ?? activeAt ?? createdAt;
}
