import { expect, test } from "vitest";
import {
	type AgentFold,
	type AgentReport,
	contradicts,
	type FoldOptions,
	foldAgent,
	NO_AGENT,
} from "../../../src/services/agents/agent-state.ts";

function report(changes: Partial<AgentReport>): AgentReport {
	return {
		signal: "osc7501",
		app: "codex",
		state: "idle",
		kind: null,
		question: null,
		details: null,
		choices: [],
		progress: null,
		title: null,
		children: [],
		offset: 100,
		since: 1_000,
		source: "test",
		...changes,
	};
}

const choices = [
	{ id: "1", label: "Yes" },
	{ id: "2", label: "No" },
];
const dialog = report({ signal: "screen", state: "blocked", kind: "permission", question: "Run it?", choices });
const screenIdle = (offset: number) => report({ signal: "screen", state: "idle", offset });

function fold(reports: AgentReport[], before: AgentFold = NO_AGENT, options: Partial<FoldOptions> = {}): AgentFold {
	return foldAgent(reports, { before, offset: 500, now: 2_000, seenEpisode: -1, ...options });
}

test("the signal with the highest rank decides, and the others are named", () => {
	const hook = report({ signal: "hook", state: "working", offset: 50 });
	const title = report({ signal: "title", state: "working", offset: 60 });
	const status = report({ state: "done" });
	const { message, decisive, others } = fold([title, status, hook]);
	expect(message).toMatchObject({ state: "done", signal: "osc7501", confidence: "sure", episode: 100, offset: 500 });
	expect(decisive).toBe(status);
	expect(others).toEqual([hook, title]);
});

test("of a title and a notification the newer one decides", () => {
	const title = report({ signal: "title", state: "working", offset: 60 });
	const notice = report({ signal: "notification", state: "blocked", offset: 61 });
	expect(fold([title, notice]).message).toMatchObject({ state: "blocked", signal: "notification" });
	expect(fold([{ ...title, offset: 62 }, notice]).message).toMatchObject({ state: "working", signal: "title" });
});

test("a newer signal of a lower rank only lowers the confidence", () => {
	const title = report({ signal: "title", state: "working", offset: 101 });
	expect(fold([report({ state: "done" }), title]).message).toMatchObject({ state: "done", confidence: "likely" });
});

test("titles and screens alone are likely", () => {
	expect(fold([report({ signal: "title", state: "working" })]).message?.confidence).toBe("likely");
	expect(fold([report({ signal: "hook", state: "working" })]).message?.confidence).toBe("sure");
});

test("a reported question takes its text and choices from the dialog on the screen", () => {
	const blocked = report({ state: "blocked", kind: "permission", question: "approve Bash: ls" });
	const first = fold([blocked]);
	expect(first.message).toMatchObject({ question: "approve Bash: ls", choices: [] });
	const both = fold([blocked, dialog], first);
	expect(both.message).toMatchObject({ signal: "osc7501", confidence: "sure", question: "Run it?", choices });
	expect(both.message?.episode).toBe(first.message?.episode);
	expect(both.others).toEqual([]);
});

test("a dialog on the screen blocks an agent that reports to be idle, as at its start", () => {
	const idle = report({ state: "idle" });
	expect(fold([idle, dialog]).message).toMatchObject({ state: "blocked", signal: "screen", confidence: "likely" });
});

test("a blocked state ends when its dialog was on the screen and is gone", () => {
	const blocked = report({ state: "blocked", kind: "permission" });
	const shown = fold([blocked, dialog]);
	const gone = fold([blocked, screenIdle(400)], shown);
	expect(gone.message).toMatchObject({ state: "idle", signal: "screen", confidence: "likely", episode: 400 });
	// And stays so.
	expect(fold([blocked, screenIdle(400)], gone).message).toMatchObject({ state: "idle", episode: 400 });
	// A new report counts again.
	const next = report({ state: "blocked", kind: "permission", offset: 450 });
	expect(fold([next, screenIdle(400)], gone).message).toMatchObject({ state: "blocked", episode: 450 });
});

test("a blocked state whose dialog is not drawn yet goes on", () => {
	const blocked = report({ state: "blocked", kind: "permission" });
	const { message, others } = fold([blocked, screenIdle(400)], fold([blocked]));
	expect(message).toMatchObject({ state: "blocked", confidence: "likely" });
	expect(others).toHaveLength(1);
});

test("progress and titles go on in an episode; another state or question begins one", () => {
	const working = fold([report({ state: "working", progress: 1 })]);
	const later = fold([report({ state: "working", progress: 2, title: "x" })], working, { now: 9_000 });
	expect(later.message).toMatchObject({ episode: 100, since: 1_000, progress: 2 });
	const blocked = fold([dialog], later, { now: 9_000 });
	expect(blocked.message).toMatchObject({ episode: 101, since: 9_000 });
	const other = fold([report({ ...dialog, question: "Write it?", offset: 300, since: 3_000 })], blocked);
	expect(other.message).toMatchObject({ episode: 300, since: 3_000 });
	const sameText = fold([report({ ...dialog, question: "Write it?", choices: choices.slice(1), offset: 400 })], other);
	expect(sameText.message?.episode).toBe(400);
});

test("a screen that rests after work means a finished turn, and one that rests after a dialog means idle", () => {
	const working = fold([report({ signal: "screen", state: "working", offset: 200 })]);
	const done = fold([screenIdle(300)], working);
	expect(done.message).toMatchObject({ state: "done", episode: 300 });
	expect(fold([screenIdle(300)], done).message).toMatchObject({ state: "done", episode: 300 });
	expect(fold([screenIdle(300)], fold([dialog])).message?.state).toBe("idle");
	expect(fold([screenIdle(300)]).message?.state).toBe("idle");
});

test("a title that rests leaves it to the screen whether the turn has failed", () => {
	const title = report({ signal: "title", state: "idle", offset: 200, since: 1_500 });
	const working = fold([report({ signal: "title", state: "working" })]);
	const failed = report({ signal: "screen", state: "error", offset: 220, since: 1_600 });
	expect(fold([title, failed], working).message).toMatchObject({ state: "error", signal: "screen", episode: 200 });
	const ended = fold([title], working);
	expect(ended.message).toMatchObject({ state: "done", signal: "title", episode: 200 });
	const drawn = fold([title, { ...failed, state: "done" }], ended, { seenEpisode: 200 });
	expect(drawn.message).toMatchObject({ state: "idle", episode: 200 });
	expect(fold([title, { ...failed, state: "done" }], drawn, { seenEpisode: 200 }).message?.state).toBe("idle");
	expect(fold([title, screenIdle(220)], working).message?.signal).toBe("title");
});

test("a finished turn is idle once it was seen, in the same episode, and a new one is not", () => {
	const done = report({ state: "done" });
	const first = fold([done]);
	const seen = fold([done], first, { seenEpisode: 100 });
	expect(seen.message).toMatchObject({ state: "idle", episode: 100 });
	expect(fold([done], seen, { seenEpisode: 100 }).message).toMatchObject({ state: "idle", episode: 100 });
	const next = fold([report({ state: "done", offset: 300 })], seen, { seenEpisode: 100 });
	expect(next.message).toMatchObject({ state: "done", episode: 300 });
});

test("the result of an agent that has ended is kept until it was seen", () => {
	const over = report({ state: "error", isOver: true });
	const first = fold([over]);
	expect(first.message).toMatchObject({ state: "error" });
	expect(fold([over], first, { seenEpisode: 100 }).message).toBeNull();
});

test("without signals there is no agent", () => {
	expect(fold([])).toEqual(NO_AGENT);
	expect(fold([], fold([dialog])).message).toBeNull();
});

test("the same question about another command is another episode", () => {
	const first = fold([{ ...dialog, details: "$ touch one" }]);
	const same = fold([{ ...dialog, details: "$ touch one", offset: 120 }], first);
	expect(same.message?.episode).toBe(first.message?.episode);
	const other = fold(
		[report({ state: "blocked", kind: "permission", offset: 90 }), { ...dialog, details: "$ rm one" }],
		same,
	);
	expect(other.message?.details).toBe("$ rm one");
	expect(other.message?.episode).toBeGreaterThan(first.message?.episode ?? 0);
});

test("a hook that the screen has contradicted for too long no longer counts, but is named", () => {
	const hook = report({ signal: "hook", state: "working" });
	expect(fold([hook, screenIdle(200)]).message).toMatchObject({
		state: "working",
		signal: "hook",
		confidence: "likely",
	});
	const over = fold([hook, screenIdle(200)], NO_AGENT, { isHookOver: true });
	expect(over.message).toMatchObject({ state: "idle", signal: "screen" });
	expect(over.others).toEqual([hook]);
	expect(fold([hook], NO_AGENT, { isHookOver: true }).message).toBeNull();
});

test("the screen contradicts a dialog that is not there, and other states only by a change", () => {
	const blocked = report({ signal: "hook", state: "blocked", offset: 300 });
	expect(contradicts(screenIdle(200), blocked)).toBe(true);
	expect(contradicts(dialog, blocked)).toBe(false);
	const working = report({ signal: "hook", state: "working", offset: 300 });
	expect(contradicts(screenIdle(200), working)).toBe(false);
	expect(contradicts(screenIdle(301), working)).toBe(true);
	expect(contradicts(null, working)).toBe(false);
	expect(contradicts(screenIdle(301), report({ signal: "hook", state: "done" }))).toBe(false);
});

test("an error on the screen of an agent that rests is one, unless the agent reports otherwise", () => {
	const failed = report({ signal: "screen", state: "error", offset: 200 });
	expect(fold([report({ signal: "hook", state: "done" }), failed]).message).toMatchObject({ state: "error" });
	expect(fold([report({ signal: "hook", state: "working", offset: 300 }), failed]).message).toMatchObject({
		state: "working",
	});
	expect(fold([report({ state: "done" }), failed]).message).toMatchObject({ state: "done" });
});
