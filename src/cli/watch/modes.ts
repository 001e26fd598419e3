/** The modes of the table, and what each displays. */

import type { LiveSessions, SessionInfo, Waiting } from "../../client/index.ts";
import { safeLine } from "../print/safe-text.ts";
import type { Size } from "../terminal/local-terminal.ts";
import type { ApprovalReview } from "./approval-review.ts";
import type { DialogReview } from "./dialog-review.ts";
import { displayText, type LineEditor } from "./line-editor.ts";
import { pageSize, type Scene, type StatusLine, visibleRows } from "./render.ts";
import { nameOf } from "./rows.ts";
import type { TableState } from "./table-state.ts";

export type Mode =
	| { readonly kind: "list" }
	| { readonly kind: "help" }
	| { readonly kind: "filter"; readonly field: LineEditor; readonly before: string }
	/** `waiting` is the question that was displayed; the answer is valid only for it. */
	| { readonly kind: "answer"; readonly session: SessionInfo; readonly waiting: Waiting; readonly field: LineEditor }
	/** The dialog that was displayed; the answer is valid only for it. */
	| { readonly kind: "choose"; readonly session: SessionInfo; readonly dialog: DialogReview }
	| { readonly kind: "prompt"; readonly session: SessionInfo; readonly field: LineEditor }
	| { readonly kind: "decide"; readonly session: SessionInfo; readonly deciding: ApprovalReview }
	| { readonly kind: "kill"; readonly session: SessionInfo };

export type ModeOf<Kind extends Mode["kind"]> = Extract<Mode, { kind: Kind }>;

export const LIST: Mode = { kind: "list" };

const HELP: readonly string[] = [
	"Up Down j k     select a session         g G     first, last",
	"Enter  a        answer here: the program gets the line once, and only",
	"                if it still asks the same question. Secrets are not",
	"                displayed, stored or recorded. The dialog of a coding agent",
	"                opens; a number or arrows and Enter choose. An agent without",
	"                one gets a prompt, at once or when it is idle.",
	"1 .. 9          answer the agent's dialog of the selected row",
	"y  n            approve or deny a held action; shows all of it first,",
	"                Enter confirms",
	"o               open in this terminal; ~. at the start of a line,",
	"                or Ctrl-] d, returns here",
	"x               kill its program and everything it started",
	"d               dismiss a failure or silence",
	"m               only sessions that need me, or all",
	"/  Esc          filter; clear the filter",
	"Ctrl-L Ctrl-Z   redraw; suspend",
	"q  Ctrl-C       quit; sessions keep running",
];

/** A message about the result of a command. */
export type Notice = { readonly text: string; readonly isBad: boolean };

/** The state of the server's sessions. */
type Known = Pick<LiveSessions, "all" | "held" | "connection">;

type Shown = {
	readonly mode: Mode;
	readonly view: TableState;
	readonly live: Known;
	readonly notice: Notice | undefined;
	readonly size: Size;
	readonly now: number;
};

export function frameState({ mode, view, live, notice, size, now }: Shown): Scene {
	return {
		size,
		now,
		rows: view.rows,
		selected: view.index,
		top: view.topFor(visibleRows(size)),
		counts: view.counts,
		remarks: remarksOf(view, live, now),
		emptyText: emptyTextOf(view, live),
		// Only displayed lines count as read.
		page: pageOf(mode, size),
		statusLine: statusLineOf(mode, live, now) ?? (notice ? { kind: "notice", ...notice } : { kind: "keys" }),
		hasColours: !process.env.NO_COLOR,
	};
}

function remarksOf({ isNeeding, query }: TableState, { connection }: Known, now: number): string[] {
	const remarks = [...(isNeeding ? ["needs me"] : []), ...(query === "" ? [] : [`/${safeLine(query)}`])];
	if (connection.kind !== "disconnected") return remarks;
	const seconds = Math.max(0, Math.floor((now - connection.since) / 1000));
	return [`reconnecting (${seconds}s)`, ...remarks];
}

function emptyTextOf({ isNeeding, query }: TableState, { connection }: Known): string {
	if (connection.kind === "loading") return "Loading sessions…";
	if (query !== "") return safeLine(`No session matches "${query}".`);
	if (isNeeding) return "Nothing needs you.";
	return "No sessions yet. Start one with: hawser run --name work -- bash";
}

/** A page that replaces the table. */
function pageOf(mode: Mode, size: Size): readonly string[] | undefined {
	if (mode.kind === "decide") return mode.deciding.page(pageSize(size));
	if (mode.kind === "choose") return mode.dialog.page(pageSize(size));
	return mode.kind === "help" ? HELP : undefined;
}

/** The status line for a prompt; undefined in other modes. */
function statusLineOf(mode: Mode, live: Known, now: number): StatusLine | undefined {
	switch (mode.kind) {
		case "filter":
			return { kind: "field", label: "/", ...displayText(mode.field) };
		case "answer":
			return answerStatusLine(mode, live);
		case "choose":
			return mode.dialog.statusLine(nameOf(mode.session), !isShown(mode, live));
		case "prompt":
			return { kind: "field", label: `prompt ${nameOf(mode.session)}:`, ...displayText(mode.field) };
		case "decide":
			return mode.deciding.statusLine(now, !live.held.some(({ id }) => id === mode.deciding.approval.id));
		case "kill":
			return { kind: "question", text: `Kill ${nameOf(mode.session)} and everything it started?`, keys: "y/N" };
		case "help":
		case "list":
			return undefined;
	}
}

/** Whether the agent still shows the dialog. */
function isShown({ session, dialog }: ModeOf<"choose">, live: Known): boolean {
	const agent = live.all.get(session.id)?.overview?.agent;
	return agent?.state === "blocked" && agent.episode === dialog.agent.episode;
}

function answerStatusLine({ session, waiting, field }: ModeOf<"answer">, live: Known): StatusLine {
	const current = live.all.get(session.id)?.overview?.waiting;
	const isOld = current?.offset !== waiting.offset ? "; the question changed" : "";
	const name = nameOf(session);
	if (waiting.kind === "secret") {
		return { kind: "field", label: `secret for ${name} (hidden${isOld}):`, text: "", before: "" };
	}
	const choices = waiting.choices ? ` [${safeLine(waiting.choices.join("/"))}]` : "";
	return { kind: "field", label: `answer ${name}${choices}${isOld}:`, ...displayText(field) };
}
