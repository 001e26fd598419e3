/** Who needs somebody, and why: pure, from what is known of a session and the time. */

import type { ApprovalMessage } from "../protocol/asking.ts";
import type { SessionMessage, Waiting } from "../protocol/messages.ts";
import { isFailure, isQuestion } from "../protocol/needs.ts";
import { wantsSentence } from "./held.ts";

/** A session as lists show it: with how it looks, as soon as that is known. */
export type Listed = SessionMessage;

type NeedFor<Kind extends string> = {
	readonly kind: Kind;
	/** Since when. */
	readonly since: number;
	/** In the program's own words; of what is held, who wants what. */
	readonly question: string;
	/** Answers that it offers. */
	readonly choices: readonly string[];
};

export type Need =
	| NeedFor<"asks" | "secret" | "failed" | "quiet">
	/** Something that is done to it only once somebody has approved it: the oldest such act. */
	| (NeedFor<"approval"> & { readonly approval: ApprovalMessage });

/** Silence is unusual when it is so many times as long as between two pieces of output, and as long as this. */
const QUIET_TIMES = 20;
const QUIET_MS = 10 * 60_000;
/** Output so recent is now. */
const ACTIVE_MS = 5_000;

export function isEnded({ state }: Pick<Listed, "state">): boolean {
	return state !== "running";
}

export function needOf(session: Listed, { now, dismissed, held }: Circumstances): Need | undefined {
	const approval = held.find((one) => one.session.id === session.id);
	if (approval) return decision(approval);
	if (isEnded(session)) return failure(session, dismissed);
	return wait(session.overview?.waiting) ?? silence(session, now, dismissed);
}

export type Circumstances = {
	readonly now: number;
	readonly dismissed: ReadonlySet<string>;
	/** What waits to be approved, oldest first. */
	readonly held: readonly ApprovalMessage[];
};

/** What is remembered when somebody has seen what a session needs: the same silence or end is not told again. */
export function dismissalOf(session: Listed): string {
	return isEnded(session) ? session.id : `${session.id}@${session.overview?.lastOutputAt ?? 0}`;
}

function decision(approval: ApprovalMessage): Need {
	const { askedAt, preview } = approval;
	const question = `${wantsSentence(approval)}: ${preview.trim()}`;
	return { kind: "approval", since: askedAt, question, choices: [], approval };
}

function wait(waiting: Waiting | null | undefined): Need | undefined {
	if (!waiting || !isQuestion(waiting)) return undefined;
	const { kind, prompt, since, choices = [] } = waiting;
	const question = prompt.trim();
	if (kind === "secret") return { kind: "secret", since, question, choices: [] };
	return { kind: "asks", since, question, choices };
}

function failure(session: Listed, dismissed: ReadonlySet<string>): Need | undefined {
	const { exit, endedAt, createdAt, overview } = session;
	if (!exit || !isFailure(session) || dismissed.has(dismissalOf(session))) return undefined;
	return { kind: "failed", since: endedAt ?? createdAt, question: (overview?.lastLine ?? "").trim(), choices: [] };
}

function silence(session: Listed, now: number, dismissed: ReadonlySet<string>): Need | undefined {
	const { lastOutputAt, usualIntervalMs, waiting, lastLine } = session.overview ?? {};
	// Whoever waits for somebody, as a shell at its prompt does, has a reason to be silent.
	if (waiting || !lastOutputAt || !usualIntervalMs) return undefined;
	const quietMs = now - lastOutputAt;
	if (quietMs < Math.max(QUIET_MS, QUIET_TIMES * usualIntervalMs)) return undefined;
	if (dismissed.has(dismissalOf(session))) return undefined;
	return { kind: "quiet", since: lastOutputAt, question: (lastLine ?? "").trim(), choices: [] };
}

const order: Readonly<Record<Need["kind"], number>> = { approval: 0, asks: 1, secret: 2, failed: 3, quiet: 4 };

export type Needing = { readonly session: Listed; readonly need: Need };

/** What is held first, for only that is over by itself, then questions, then failures; of each kind whoever waits longest. */
export function byUrgency(a: Needing, b: Needing): number {
	return order[a.need.kind] - order[b.need.kind] || a.need.since - b.need.since;
}

/** Whether it has just written something. */
export function isActive(session: Listed, now: number): boolean {
	return !isEnded(session) && now - lastActive(session) < ACTIVE_MS;
}

export function lastActive({ overview, activeAt, createdAt }: Listed): number {
	return overview?.lastOutputAt ?? activeAt ?? createdAt;
}
