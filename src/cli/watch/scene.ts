/** What somebody may be at in the table, and what is shown of it then. */

import type { Listed, LiveSessions, Waiting } from "../../client/index.ts";
import type { Size } from "../local-terminal.ts";
import { safeLine } from "../safe-text.ts";
import type { Deciding } from "./deciding.ts";
import { type Footing, pageRoom, roomFor, type Scene } from "./frame.ts";
import { type LineField, shown } from "./line-field.ts";
import { nameOf } from "./rows.ts";
import type { View } from "./view.ts";

export type Mode =
	| { readonly kind: "list" }
	| { readonly kind: "help" }
	| { readonly kind: "filter"; readonly field: LineField; readonly before: string }
	/** `waiting` is the question that was read: an answer is good for no other. */
	| { readonly kind: "answer"; readonly session: Listed; readonly waiting: Waiting; readonly field: LineField }
	| { readonly kind: "decide"; readonly session: Listed; readonly deciding: Deciding }
	| { readonly kind: "stop"; readonly session: Listed };

/** The mode of that kind. */
export type ModeOf<Kind extends Mode["kind"]> = Extract<Mode, { kind: Kind }>;

export const LIST: Mode = { kind: "list" };

const HELP: readonly string[] = [
	"Up Down j k     another session          g G     the first, the last",
	"Enter  a        answer it here, or type a line into what waits for one:",
	"                the program gets it once, and only if it still asks",
	"                the same. A secret is not shown, kept or recorded.",
	"y  n            approve or deny what somebody may not do alone:",
	"                all of it is shown first, and Enter decides",
	"o               open it in this terminal; ~. at the start of a line,",
	"                or Ctrl-] d, comes back here",
	"x               stop its program, with everything that it started",
	"d               dismiss: seen, it needs nobody for that any more",
	"m               only those that need me, or all",
	"/  Esc          filter by words; all again",
	"Ctrl-L Ctrl-Z   draw anew; stop this, as any program",
	"q  Ctrl-C       quit; every session goes on",
];

/** What became of something. */
export type Notice = { readonly text: string; readonly isBad: boolean };

/** What is known of the server's sessions. */
type Known = Pick<LiveSessions, "all" | "held" | "connection">;

type Shown = {
	readonly mode: Mode;
	readonly view: View;
	readonly live: Known;
	readonly notice: Notice | undefined;
	readonly size: Size;
	readonly now: number;
};

export function sceneOf({ mode, view, live, notice, size, now }: Shown): Scene {
	return {
		size,
		now,
		rows: view.rows,
		selected: view.index,
		top: view.topFor(roomFor(size)),
		counts: view.counts,
		remarks: remarksOf(view, live, now),
		emptyText: emptyTextOf(view, live),
		// Only what was shown counts as read.
		page: pageOf(mode, size),
		footing: footingOf(mode, live, now) ?? (notice ? { kind: "notice", ...notice } : { kind: "keys" }),
		hasColours: !process.env.NO_COLOR,
	};
}

function remarksOf({ isNeeding, query }: View, { connection }: Known, now: number): string[] {
	const remarks = [...(isNeeding ? ["only who needs me"] : []), ...(query === "" ? [] : [`/${safeLine(query)}`])];
	if (connection.kind !== "cut") return remarks;
	const seconds = Math.max(0, Math.floor((now - connection.since) / 1000));
	return [`reconnecting… ${seconds} s`, ...remarks];
}

function emptyTextOf({ isNeeding, query }: View, { connection }: Known): string {
	if (connection.kind === "loading") return "Loading sessions…";
	if (query !== "") return safeLine(`No session matches "${query}".`);
	if (isNeeding) return "Nobody needs you.";
	return "Nothing runs here yet. Start something, as by: hawser run --name work -- bash. It appears here by itself.";
}

/** Instead of the table. */
function pageOf(mode: Mode, size: Size): readonly string[] | undefined {
	if (mode.kind === "decide") return mode.deciding.page(pageRoom(size));
	return mode.kind === "help" ? HELP : undefined;
}

/** Undefined where nothing is asked or typed. */
function footingOf(mode: Mode, live: Known, now: number): Footing | undefined {
	switch (mode.kind) {
		case "filter":
			return { kind: "field", label: "/", ...shown(mode.field) };
		case "answer":
			return answerFooting(mode, live);
		case "decide":
			return mode.deciding.footing(now, !live.held.some(({ id }) => id === mode.deciding.approval.id));
		case "stop":
			return { kind: "question", text: `Stop ${nameOf(mode.session)} and all it started?`, keys: "y/N" };
		case "help":
		case "list":
			return undefined;
	}
}

function answerFooting({ session, waiting, field }: ModeOf<"answer">, live: Known): Footing {
	const current = live.all.get(session.id)?.overview?.waiting;
	const isOld = current?.offset !== waiting.offset ? " (asks something else now)" : "";
	const name = nameOf(session);
	if (waiting.kind === "secret") {
		return { kind: "field", label: `secret for ${name}, not shown${isOld}:`, text: "", before: "" };
	}
	const choices = waiting.choices ? ` [${safeLine(waiting.choices.join("/"))}]` : "";
	return { kind: "field", label: `answer ${name}${choices}${isOld}:`, ...shown(field) };
}
