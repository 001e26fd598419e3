/**
 * Folds the signals of a coding agent into its state.
 *
 * 1. The signal with the highest rank decides: OSC 7501, hook, title or notification, screen. A title and a
 *    notification have the same rank: the newer one decides.
 * 2. A dialog on the screen blocks the agent, whatever other signals say.
 * 3. A blocked state ends when its dialog was on the screen and is gone, even if no other signal reports that.
 * 4. The report of a hook ends when the screen has contradicted it for a while: agents run no hook for a denial.
 * 5. A child that is blocked blocks the agent, and one that works keeps it working.
 * 6. A title or a hook shows only that the agent rests. The screen tells an error from a finished turn.
 * 7. Without a signal for it, the end of a turn is seen by the change from working to idle.
 * 8. A finished turn is `done` until a user has seen it, and `idle` afterwards.
 */

import type { AgentMessage } from "../../api/types.ts";
import type { AgentChoice, AgentSignal, AgentState } from "../../words/agent.ts";

/** The state of an agent as one signal reports it. */
export type AgentReport = Pick<
	AgentMessage,
	"app" | "state" | "kind" | "question" | "details" | "progress" | "title" | "children"
> & {
	readonly signal: AgentSignal;
	readonly choices: readonly AgentChoice[];
	/** Offset in the output at which the state began. */
	readonly offset: number;
	readonly since: number;
	/** Offset of the last report of this state, if reports repeat it. */
	readonly latest?: number;
	/** The agent has ended. Its result is reported until a user has seen it. */
	readonly isOver?: true;
	/** The record, title or rule that it comes from. */
	readonly source: string;
};

export type AgentFold = {
	readonly message: AgentMessage | null;
	readonly decisive: AgentReport | null;
	/** Signals that say something else, by rank. */
	readonly others: readonly AgentReport[];
	/** Offset of the last report of a blocked state whose dialog was on the screen. */
	readonly shown: number | null;
};

export type FoldOptions = {
	readonly before: AgentFold;
	/** The end of the output. */
	readonly offset: number;
	readonly now: number;
	/** The last episode of which a user has seen the end. */
	readonly seenEpisode: number;
	/** The hook's report has been contradicted for too long. */
	readonly isHookOver?: boolean;
};

export const NO_AGENT: AgentFold = { message: null, decisive: null, others: [], shown: null };

/** Signals of one rank are in one row. The newest of them decides. */
const RANKS: readonly (readonly AgentSignal[])[] = [["osc7501"], ["hook"], ["title", "notification"], ["screen"]];

export function foldAgent(reports: readonly AgentReport[], options: FoldOptions): AgentFold {
	const { before } = options;
	const newestFirst = reports.toSorted((one, other) => other.offset - one.offset);
	const ranked = RANKS.flatMap((signals) => newestFirst.filter(({ signal }) => signals.includes(signal)));
	const screen = ranked.find(({ signal }) => signal === "screen");
	const [first] = options.isHookOver ? ranked.filter(({ signal }) => signal !== "hook") : ranked;
	const isShown = first?.state === "blocked" && screen?.state === "blocked";
	const shown = isShown ? first.offset : before.shown;
	const decisive = decide(first, screen, shown);
	if (!decisive) return NO_AGENT;
	const others = ranked.filter((report) => report !== decisive && !isCompatible(report, decisive));
	const message = messageOf(decisive, screen, others, options);
	if (!message) return NO_AGENT;
	return { message, decisive, others, shown };
}

function decide(
	first: AgentReport | undefined,
	screen: AgentReport | undefined,
	shown: number | null,
): AgentReport | undefined {
	if (!screen || first?.state === screen.state) return first;
	// Also start-up dialogs and offers, which agents do not report.
	if (screen.state === "blocked") return screen;
	// The end of a turn is where title or hook show it; how it ended is only on the screen.
	const isResult = screen.state === "done" || screen.state === "error";
	const isRest = first?.signal === "title" && first.state === "idle" && isResult;
	const isEnd = first?.signal === "hook" && isCompatible(first, screen) && screen.state === "error";
	if (isRest || isEnd) return { ...screen, offset: first.offset, since: first.since };
	const isClosed = first?.state === "blocked" && first.offset === shown && screen.offset >= first.offset;
	return isClosed ? screen : first;
}

/**
 * Whether the screen contradicts a hook. A dialog that was reported must be there. Other states may have no sign on the
 * screen, so only a screen that has changed since the report contradicts them.
 */
export function contradicts(screen: AgentReport | null, hook: AgentReport | null): boolean {
	if (!screen || !hook || isCompatible(screen, hook)) return false;
	return hook.state === "blocked" || screen.offset > (hook.latest ?? hook.offset);
}

function messageOf(
	decisive: AgentReport,
	screen: AgentReport | undefined,
	others: readonly AgentReport[],
	{ before, offset, now, seenEpisode }: FoldOptions,
): AgentMessage | null {
	const { signal, offset: begin, since, source: _source, latest: _latest, isOver, ...report } = decisive;
	const state = stateOf(decisive, before.message);
	const dialog = state === "blocked" && screen?.state === "blocked" ? screen : undefined;
	const asked = dialog
		? {
				kind: report.kind ?? dialog.kind,
				question: dialog.question ?? report.question,
				details: dialog.details ?? report.details,
				choices: dialog.choices,
			}
		: {};
	const isDisputed = others.some((other) => other.offset > begin);
	const isSure = (signal === "osc7501" || signal === "hook") && !isDisputed;
	const content = { ...report, ...asked, state };
	const place = placeOf(content, { begin, since, now, before: before.message });
	const isSeen = place.episode <= seenEpisode;
	if (isSeen && isOver) return null;
	return {
		...content,
		state: isSeen && state === "done" ? "idle" : state,
		...place,
		offset,
		signal,
		confidence: isSure ? "sure" : "likely",
	};
}

/** Screens and titles show that an agent rests, not that its turn has ended. */
function stateOf({ signal, state }: AgentReport, before: AgentMessage | null): AgentState {
	const isInferred = signal === "screen" || signal === "title";
	if (!isInferred || state !== "idle") return state;
	return before?.state === "working" || before?.state === "done" ? "done" : state;
}

type Content = Pick<AgentMessage, "state" | "kind" | "question" | "details" | "choices" | "app">;

/** The episode goes on while the state and the question are the same. */
function placeOf(
	content: Content,
	{ begin, since, now, before }: { begin: number; since: number; now: number; before: AgentMessage | null },
): Pick<AgentMessage, "episode" | "since"> {
	if (before && continues(before, content, begin)) return { episode: before.episode, since: before.since };
	if (!before || begin > before.episode) return { episode: begin, since };
	return { episode: before.episode + 1, since: now };
}

function continues(before: AgentMessage, now: Content, begin: number): boolean {
	const isSeenDone = before.state === "idle" && now.state === "done" && begin <= before.episode;
	if (before.app !== now.app || (before.state !== now.state && !isSeenDone)) return false;
	if (now.state !== "blocked") return true;
	return isSameQuestion(before, now);
}

/**
 * A dialog that is reported before it is read from the screen goes on. Once it was read, another command or label makes
 * another one: an answer must never go to a dialog that its caller has not seen.
 */
function isSameQuestion(before: Content, now: Content): boolean {
	const isSameKind = before.kind === null || now.kind === null || before.kind === now.kind;
	const labels = (choices: Content["choices"]) => choices.map(({ label }) => label).join("\n");
	if (!isSameKind || before.choices.length === 0) return isSameKind;
	if (before.question !== now.question) return false;
	if (now.choices.length === 0) return true;
	return labels(before.choices) === labels(now.choices) && before.details === now.details;
}

/** Only the state counts: `idle`, `done` and `error` look alike on a screen. */
function isCompatible(one: AgentReport, other: AgentReport): boolean {
	return stageOf(one.state) === stageOf(other.state);
}

export function stageOf(state: AgentState): "working" | "blocked" | "resting" {
	return state === "working" || state === "blocked" ? state : "resting";
}
