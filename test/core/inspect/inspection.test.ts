import { expect, test } from "vitest";
import { decide, type InspectionContext, isWaitingForInput } from "../../../src/core/inspect/inspection.ts";
import type { ProcessSnapshot } from "../../../src/core/process/process-snapshot.ts";

/** A program that sleeps in its own code, on a terminal in line mode. */
const asleep: ProcessSnapshot = {
	hasTerminal: true,
	isInner: false,
	isSplit: false,
	canonical: true,
	echo: true,
	unread: 0,
	runs: false,
	reads: false,
	writes: false,
	listens: false,
	isOnDisk: false,
	isStopped: false,
	isDenied: false,
	pid: 7,
	image: "100.7f",
	program: "prog",
	cwd: "/",
	call: "sleep",
	depth: null,
	argv: [],
	processes: 1,
};
const quiet: InspectionContext = {
	own: undefined,
	hasQueuedInput: false,
	isPaused: false,
	isFullScreen: false,
	prompt: null,
	isAsking: false,
	quietMs: 10_000,
};
const raw = { canonical: false, echo: false };

const rows: readonly [string, Partial<ProcessSnapshot>, Partial<InspectionContext>, string][] = [
	["no process is in front", { pid: null }, {}, "unknown no-process sure"],
	["input was not read", { reads: true, unread: 3 }, {}, "busy null sure"],
	["input did not get to it yet", { reads: true }, { hasQueuedInput: true }, "busy null sure"],
	["one of several runs", { runs: true, reads: true }, {}, "running null sure"],
	[
		"the session's own shell edits a line, and something runs beside it",
		{ runs: true, listens: true, ...raw, program: "fish" },
		{ own: 7, prompt: "likely" },
		"prompt null likely",
	],
	[
		"another shell edits a line, and something runs beside it",
		{ runs: true, listens: true, ...raw, program: "fish" },
		{ own: 8 },
		"running null sure",
	],
	["it was stopped in a read", { isStopped: true, reads: true }, {}, "stopped null sure"],
	["it can't write, and we read", { writes: true }, {}, "flow-stopped key sure"],
	["it can't write, because we do not read", { writes: true }, { isPaused: true }, "flow-stopped reader sure"],
	["it can't write for a moment", { writes: true }, { quietMs: 3 }, "running null sure"],
	["it reads without echo", { reads: true, echo: false }, {}, "waiting secret sure"],
	["it listens for a line without echo", { listens: true, echo: false }, {}, "waiting secret likely"],
	["it reads a line", { reads: true }, {}, "waiting line sure"],
	["it reads a pipe", { reads: true, hasTerminal: false, ...raw }, {}, "waiting line sure"],
	["it reads keys", { reads: true, ...raw }, {}, "waiting key sure"],
	["a shell's own command listens for keys", { listens: true, ...raw, program: "bash" }, {}, "waiting key likely"],
	["a shell reads a line for a command", { reads: true, program: "dash" }, { prompt: "likely" }, "prompt null likely"],
	[
		"a shell reads a line for a command where nothing is shown",
		{ reads: true, echo: false, program: "dash" },
		{ prompt: "likely" },
		"prompt null likely",
	],
	["text alone looks like a prompt", { reads: true, program: "dash" }, { prompt: "guess" }, "prompt null guess"],
	["a shell has not read its line", { reads: true, unread: 1, program: "dash" }, { prompt: "sure" }, "busy null sure"],
	[
		"a shell is in one of several terminals",
		{ listens: true, isSplit: true, ...raw, program: "bash" },
		{ prompt: "sure" },
		"unknown relay sure",
	],
	[
		"a shell listens inside of what has the whole screen",
		{ listens: true, isInner: true, ...raw, program: "bash" },
		{ isFullScreen: true, prompt: "sure" },
		"tui null likely",
	],
	[
		"a program has left a shell with the whole screen",
		{ listens: true, ...raw, program: "bash" },
		{ isFullScreen: true, prompt: "likely" },
		"prompt null likely",
	],
	["a shell reads keys at its mark", { reads: true, ...raw, program: "zsh" }, { prompt: "sure" }, "prompt null sure"],
	["a program of it reads keys", { reads: true, ...raw, program: "less" }, {}, "waiting key sure"],
	["an editor listens for keys", { listens: true, ...raw }, { isFullScreen: true }, "tui null likely"],
	["something else listens for keys", { listens: true, ...raw }, {}, "waiting key likely"],
	["a server listens for lines", { listens: true }, {}, "listening null likely"],
	["a server listens to a pipe", { listens: true, hasTerminal: false, ...raw }, {}, "listening null likely"],
	["a relay asks for a password itself", { reads: true, echo: false, program: "ssh" }, {}, "waiting secret sure"],
	["a relay shows something else", { listens: true, ...raw, program: "ssh" }, {}, "unknown relay sure"],
	["a multiplexer says what it is", { ...raw, program: "tmux: client" }, {}, "unknown relay sure"],
	["we saw through it", { reads: true, isInner: true, ...raw, program: "ssh" }, {}, "waiting key sure"],
	["there are several terminals further in", { listens: true, isSplit: true, ...raw }, {}, "unknown relay sure"],
	["it has asked its terminal", { reads: true, ...raw }, { isAsking: true, quietMs: 9_999 }, "waiting reply sure"],
	[
		"a shell has asked",
		{ listens: true, ...raw, program: "fish" },
		{ prompt: "likely", isAsking: true, quietMs: 5 },
		"waiting reply sure",
	],
	["it asks without looking", { ...raw }, { isAsking: true, quietMs: 5 }, "waiting reply sure"],
	["it has asked long ago", { reads: true, ...raw }, { isAsking: true }, "waiting key sure"],
	["it has asked, and reads a line", { reads: true }, { isAsking: true, quietMs: 5 }, "waiting line sure"],
	["a question was printed", {}, { isAsking: true, quietMs: 5 }, "sleeping sleep sure"],
	[
		"an editor has asked in passing",
		{ listens: true, ...raw },
		{ isAsking: true, isFullScreen: true, quietMs: 5 },
		"tui null likely",
	],
	["we may not look, and there is no echo", { isDenied: true, echo: false }, {}, "waiting secret likely"],
	["we may not look", { isDenied: true }, {}, "unknown denied sure"],
	["the disk has it", { isOnDisk: true }, {}, "disk null sure"],
	["it sleeps", {}, {}, "sleeping sleep sure"],
];

test.each(rows)("the state is correct when %s", (_, sight, surroundings, expected) => {
	const { state, kind, confidence } = decide({ ...asleep, ...sight }, { ...quiet, ...surroundings });
	expect(`${state} ${kind} ${confidence}`).toBe(expected);
});

test("only a state that typed input resumes is waiting", () => {
	const states = ["waiting", "prompt", "tui", "listening", "busy", "sleeping", "unknown", "ended"] as const;
	expect(states.filter((state) => isWaitingForInput({ state, kind: null }))).toEqual(["waiting", "prompt", "tui"]);
	expect(isWaitingForInput({ state: "waiting", kind: "reply" })).toBe(false);
});
