/** The state of a session in a picture, a word and a tone: the same wherever it is shown. */

import { failureWord, isActive, isEnded, isFailure, type Listed, lastActive, type Need, shortEnd } from "hawser/client";
import type { StateGlyph } from "./glyph.ts";
import { span } from "./words.ts";

export type Described = {
	readonly glyph: StateGlyph;
	readonly word: string;
	readonly tone: "wait" | "bad" | "good" | "calm";
};

export function describe(session: Listed, need: Need | undefined, now: number): Described {
	if (need) return describeNeed(session, need, now);
	if (isEnded(session)) return describeEnd(session);
	if (session.unreachable) return { glyph: "lost", word: "no answer", tone: "bad" };
	if (isActive(session, now)) return { glyph: "run", word: "active", tone: "good" };
	return { glyph: "idle", word: `idle ${span(now - lastActive(session))}`, tone: "calm" };
}

function describeNeed(session: Listed, { kind, since }: Need, now: number): Described {
	switch (kind) {
		case "approval":
			return { glyph: "wait", word: "wants approval", tone: "wait" };
		case "asks":
			return { glyph: "wait", word: "asks", tone: "wait" };
		case "secret":
			return { glyph: "secret", word: "wants a secret", tone: "wait" };
		case "quiet":
			return { glyph: "quiet", word: `quiet for ${span(now - since)}`, tone: "wait" };
		case "failed":
			return { glyph: "bad", word: failureWord(session), tone: "bad" };
	}
}

function describeEnd(session: Listed): Described {
	const word = shortEnd(session);
	if (session.state === "lost") return { glyph: "lost", word, tone: "bad" };
	if (isFailure(session)) return { glyph: "bad", word, tone: "calm" };
	return { glyph: session.exit?.code === 0 ? "ok" : "stop", word, tone: "calm" };
}
