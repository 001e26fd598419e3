/** A session's state as an icon, a label and a tone, the same in all views. */

import {
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
	if (isActive(session, now)) return { glyph: "run", word: "active", tone: "good" };
	return { glyph: "idle", word: `idle ${formatDuration(now - lastActiveAt(session))}`, tone: "calm" };
}

function describeNeed(session: SessionInfo, { kind, since }: Need, now: number): SessionState {
	switch (kind) {
		case "approval":
			return { glyph: "wait", word: "needs approval", tone: "wait" };
		case "asks":
			return { glyph: "wait", word: "asks", tone: "wait" };
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
