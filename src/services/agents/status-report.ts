/** The state that a program reports by OSC 7501 or that its hooks report: its root record, and those of its children. */

import type { AgentChild } from "../../api/types.ts";
import { appOf, type StatusKind, type StatusRecord } from "../../core/terminal/program-status.ts";
import type { TerminalSignals } from "../../core/terminal/terminal-signals.ts";
import type { AgentKind, AgentState } from "../../words/agent.ts";
import type { AgentReport } from "./agent-state.ts";

const KINDS: Readonly<Record<StatusKind, AgentKind>> = {
	permission: "permission",
	question: "question",
	auth: "login",
};
/** Without a root record, the first of these that a child has. */
const CHILD_RANKS: readonly AgentState[] = ["blocked", "working", "error", "done", "idle"];
/** Invisible formatting, which could disguise text. Emoji need the zero-width joiner. */
const INVISIBLE = /(?!\u200d)\p{Cf}/gu;

/** `app` is the name of the program if its records have none. */
export function statusReport(
	{ records, foreground }: Pick<TerminalSignals, "records" | "foreground">,
	app: string,
): AgentReport | null {
	return reportOf("osc7501", records, { foreground, app });
}

/** A report of a hook always names its agent. */
export function hookReport({ hook, foreground }: Pick<TerminalSignals, "hook" | "foreground">): AgentReport | null {
	const report = hook ? reportOf("hook", [hook], { foreground, app: hook.app ?? "unknown" }) : null;
	return report && hook ? { ...report, latest: hook.latest } : null;
}

function reportOf(
	signal: "osc7501" | "hook",
	records: readonly StatusRecord[],
	{ foreground, app }: { readonly foreground: number | null; readonly app: string },
): AgentReport | null {
	const current = records.filter((record) => isInFront(record, foreground));
	const isOver = current.length === 0;
	const counted = isOver ? records.filter(({ state }) => state === "done" || state === "error") : current;
	const decisive = decisiveRecord(counted);
	if (!decisive) return null;
	const root = counted.find(({ id }) => id === "");
	const { state, kind, offset, at: since } = decisive;
	const message = visibleText(decisive.message);
	return {
		signal,
		app: appOf(counted, decisive.id) ?? app,
		state,
		kind: kind && KINDS[kind],
		question: state === "blocked" ? message : null,
		details: state === "blocked" ? null : message,
		choices: [],
		progress: (root ?? decisive).progress,
		title: visibleText((root ?? decisive).title),
		children: childrenOf(counted),
		offset,
		since,
		...(isOver ? { isOver } : {}),
		source: `state=${state}${kind ? `:kind=${kind}` : ""}${decisive.id === "" ? "" : `:id=${decisive.id}`}`,
	};
}

/** Without a known foreground process group, it counts as unchanged. */
function isInFront({ foreground }: Pick<StatusRecord, "foreground">, now: number | null): boolean {
	return foreground === null || now === null || foreground === now;
}

/** The root record, unless a child is blocked, or works while the root rests. */
function decisiveRecord(records: readonly StatusRecord[]): StatusRecord | undefined {
	const root = records.find(({ id }) => id === "");
	const child = (state: AgentState) => records.find((record) => record.id !== "" && record.state === state);
	if (root?.state === "blocked" || root?.state === "error")
		return child("blocked") && root.state === "error" ? child("blocked") : root;
	if (root) return child("blocked") ?? (root.state === "working" ? root : (child("working") ?? root));
	return CHILD_RANKS.map(child).find((record) => record !== undefined);
}

function childrenOf(records: readonly StatusRecord[]): AgentChild[] {
	const children = records.filter(({ id }) => id !== "");
	return children.map(({ id, state, kind, title, message, progress, at: since }) => ({
		id,
		app: appOf(records, id),
		state,
		kind: kind && KINDS[kind],
		title: visibleText(title),
		details: visibleText(message),
		progress,
		since,
	}));
}

/** The text without invisible formatting; null if nothing is left. */
export function visibleText(text: string | null): string | null {
	return text === null ? null : text.replace(INVISIBLE, "").trim() || null;
}
