/** Sessions as table rows. */

import {
	type AgentMessage,
	type AgentState,
	type ApprovalMessage,
	agentLabel,
	agentText,
	endLabel,
	failureLabel,
	isActive,
	isEnded,
	lastActiveAt,
	type Need,
	type NeedContext,
	needOf,
	type SessionGroups,
	type SessionInfo,
} from "../../client/index.ts";
import { formatDuration } from "../../words/units.ts";
import { safeLine } from "../print/safe-text.ts";

export type Tone = "wait" | "bad" | "good" | "calm";

/** All texts are safe to display. */
export type Row = {
	readonly session: SessionInfo;
	readonly need: Need | undefined;
	readonly name: string;
	readonly word: string;
	readonly tone: Tone;
	/** Start of the state; undefined for states that change all the time. */
	readonly since: number | undefined;
	/** The outcome of the last answer, the question with its choices, or the last line. */
	readonly text: string;
};

/** The name, or the program. */
export function nameOf({ name, argv, id }: Pick<SessionInfo, "name" | "argv" | "id">): string {
	return safeLine(name ?? ((argv[0] ?? "").split("/").at(-1) || id));
}

/** The outcome of an answer that was given here. */
export type RowNote = { readonly text: string; readonly isBad: boolean };

export function toRow(session: SessionInfo, circumstances: NeedContext, note?: RowNote): Row {
	const need = needOf(session, circumstances);
	const { now } = circumstances;
	const state = need ? stateOfNeed(session, need) : stateOf(session, now);
	const row = { session, need, name: nameOf(session), text: textOf(session, need, now), ...state };
	if (!note) return row;
	// The question stays readable beside an error.
	const text = [safeLine(note.text), row.text].filter((part) => part !== "").join(" · ");
	return { ...row, text, ...(note.isBad ? { tone: "bad" as const } : {}) };
}

type State = Pick<Row, "word" | "tone" | "since">;

function stateOfNeed(session: SessionInfo, need: Need): State {
	const { kind, since } = need;
	switch (kind) {
		case "approval":
			return { word: "needs approval", tone: "wait", since };
		case "asks":
			return { word: need.agent ? agentLabel(need.agent) : "asks", tone: "wait", since };
		case "secret":
			return { word: "needs a secret", tone: "wait", since };
		case "quiet":
			return { word: "quiet", tone: "wait", since };
		case "failed":
			return { word: failureLabel(session), tone: "bad", since };
	}
}

function stateOf(session: SessionInfo, now: number): State {
	if (isEnded(session)) return { word: endLabel(session), tone: "calm", since: session.endedAt ?? undefined };
	if (session.unreachable) return { word: "unreachable", tone: "bad", since: undefined };
	const { agent } = session.overview ?? {};
	if (agent) return { word: agentLabel(agent), tone: AGENT_TONES[agent.state], since: agent.since };
	if (isActive(session, now)) return { word: "active", tone: "good", since: undefined };
	return { word: "idle", tone: "calm", since: lastActiveAt(session) };
}

const AGENT_TONES: Readonly<Record<AgentState, Tone>> = {
	working: "good",
	blocked: "wait",
	done: "good",
	idle: "calm",
	error: "bad",
};

/** Time until a held action expires. */
export function timeLeft({ expiresAt }: ApprovalMessage, now: number): string {
	return `${formatDuration(expiresAt - now)} left`;
}

function textOf({ overview, mode }: SessionInfo, need: Need | undefined, now: number): string {
	if (need?.kind === "approval") return safeLine(`${timeLeft(need.approval, now)}, ${need.question}`);
	if (need?.kind === "asks" && need.agent) return safeLine(dialogText(need.question, need.agent));
	if (need && need.question !== "") return safeLine(need.question);
	if (overview?.agent) return safeLine(agentText({ agent: overview.agent, lastLine: overview.lastLine }));
	// A full-screen program has no last line.
	if (overview && overview.lastLine === null && mode === "pty" && overview.lastOutputAt) return "(full-screen program)";
	return safeLine((overview?.lastLine ?? "").trim());
}

/** "Which database should I use? [1 SQLite · 2 Postgres]", with the command or the end of the diff. */
function dialogText(question: string, { details, choices }: AgentMessage): string {
	const subject = details?.trim().split("\n").at(-1) ?? "";
	const offered = choices.map(({ id, label }) => `${id} ${label}`).join(" · ");
	return [question, subject, offered === "" ? "" : `[${offered}]`].filter((text) => text !== "").join(" ");
}

/** Sessions that need attention, then running ones, then ended ones. */
export function flattenGroups({ needing, running, ended }: SessionGroups): SessionInfo[] {
	return [...needing.map(({ session }) => session), ...running, ...ended];
}
