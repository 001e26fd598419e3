/** Sessions as rows of the table, in an order that holds still while somebody uses it. */

import {
	type ApprovalMessage,
	type Circumstances,
	failureWord,
	type Grouped,
	isActive,
	isEnded,
	type Listed,
	lastActive,
	type Need,
	needOf,
	shortEnd,
} from "../../client/index.ts";
import { formatDuration } from "../../protocol/units.ts";
import { safeLine } from "../safe-text.ts";

export type Tone = "wait" | "bad" | "good" | "calm";

/** All texts are safe to show. */
export type Row = {
	readonly session: Listed;
	readonly need: Need | undefined;
	readonly name: string;
	readonly word: string;
	readonly tone: Tone;
	/** Since when it is so; undefined for what changes all the time. */
	readonly since: number | undefined;
	/** What it asks, or wrote last. */
	readonly text: string;
};

/** What people call it: its name, or the program that it runs. */
export function nameOf({ name, argv, id }: Pick<Listed, "name" | "argv" | "id">): string {
	return safeLine(name ?? ((argv[0] ?? "").split("/").at(-1) || id));
}

export function rowOf(session: Listed, circumstances: Circumstances): Row {
	const need = needOf(session, circumstances);
	const { now } = circumstances;
	const state = need ? stateOfNeed(session, need) : stateOf(session, now);
	return { session, need, name: nameOf(session), text: textOf(session, need, now), ...state };
}

type State = Pick<Row, "word" | "tone" | "since">;

function stateOfNeed(session: Listed, { kind, since }: Need): State {
	switch (kind) {
		case "approval":
			return { word: "wants approval", tone: "wait", since };
		case "asks":
			return { word: "asks", tone: "wait", since };
		case "secret":
			return { word: "wants a secret", tone: "wait", since };
		case "quiet":
			return { word: "quiet", tone: "wait", since };
		case "failed":
			return { word: failureWord(session), tone: "bad", since };
	}
}

function stateOf(session: Listed, now: number): State {
	if (isEnded(session)) return { word: shortEnd(session), tone: "calm", since: session.endedAt ?? undefined };
	if (session.unreachable) return { word: "no answer", tone: "bad", since: undefined };
	if (isActive(session, now)) return { word: "active", tone: "good", since: undefined };
	return { word: "idle", tone: "calm", since: lastActive(session) };
}

/** How long something is held still: it is over by itself then. */
export function leftOf({ expiresAt }: ApprovalMessage, now: number): string {
	return `${formatDuration(expiresAt - now)} left`;
}

function textOf({ overview, mode }: Listed, need: Need | undefined, now: number): string {
	if (need?.kind === "approval") return safeLine(`${leftOf(need.approval, now)}, ${need.question}`);
	if (need && need.question !== "") return safeLine(need.question);
	// No line of its own is known of a program that has the whole screen.
	if (overview && overview.lastLine === null && mode === "pty" && overview.lastOutputAt) return "(full screen)";
	return safeLine((overview?.lastLine ?? "").trim());
}

/** Those that need somebody, then those that run, then those that have ended. */
export function inOrder({ needing, running, ended }: Grouped): Listed[] {
	return [...needing.map(({ session }) => session), ...running, ...ended];
}
