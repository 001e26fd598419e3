/** A session's state as an icon, a label and a tone, the same in all views. */

import {
	type AgentMessage,
	agentLabel,
	endLabel,
	failureLabel,
	isActive,
	isEnded,
	isFailure,
	lastActiveAt,
	type Need,
	type SessionInfo,
} from "hawser/client";
import type { StateGlyph } from "./icons.ts";
import { formatDuration } from "./text.ts";

export type SessionState = {
	readonly glyph: StateGlyph;
	readonly word: string;
	readonly tone: "wait" | "bad" | "good" | "calm";
};

export function sessionState(session: SessionInfo, need: Need | undefined, now: number): SessionState {
	if (need) return describeNeed(session, need, now);
	if (isEnded(session)) return describeEnd(session);
	if (session.unreachable) return { glyph: "lost", word: "no answer", tone: "bad" };
	if (session.overview?.agent) return describeAgent(session.overview.agent, now);
	if (isActive(session, now)) return { glyph: "run", word: "active", tone: "good" };
	return { glyph: "idle", word: `idle ${formatDuration(now - lastActiveAt(session))}`, tone: "calm" };
}

function describeAgent(agent: AgentMessage, now: number): SessionState {
	const word = agentLabel(agent);
	switch (agent.state) {
		case "working":
			return { glyph: "run", word, tone: "good" };
		case "blocked":
			return { glyph: "wait", word, tone: "wait" };
		case "done":
			return { glyph: "ok", word, tone: "good" };
		case "idle":
			return { glyph: "idle", word: `idle ${formatDuration(now - agent.since)}`, tone: "calm" };
		case "error":
			return { glyph: "bad", word, tone: "bad" };
	}
}

function describeNeed(session: SessionInfo, need: Need, now: number): SessionState {
	const { kind, since } = need;
	switch (kind) {
		case "approval":
			return { glyph: "wait", word: "needs approval", tone: "wait" };
		case "asks":
			return { glyph: "wait", word: need.agent ? agentLabel(need.agent) : "asks", tone: "wait" };
		case "secret":
			return { glyph: "secret", word: "needs a secret", tone: "wait" };
		case "quiet":
			return { glyph: "quiet", word: `quiet for ${formatDuration(now - since)}`, tone: "wait" };
		case "failed":
			return { glyph: "bad", word: failureLabel(session), tone: "bad" };
	}
}

function describeEnd(session: SessionInfo): SessionState {
	const word = endLabel(session);
	if (session.state === "lost") return { glyph: "lost", word, tone: "bad" };
	if (isFailure(session)) return { glyph: "bad", word, tone: "calm" };
	return { glyph: session.exit?.code === 0 ? "ok" : "stop", word, tone: "calm" };
}
