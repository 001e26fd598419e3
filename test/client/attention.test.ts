import { describe, expect, it } from "vitest";
import {
	type AgentMessage,
	agentLabel,
	agentText,
	compareNeeds,
	dismissalKey,
	groupSessions,
	isActive,
	needOf,
	withPendingStarts,
} from "../../src/client/index.ts";
import { asking, held, listed, MINUTE, NOW } from "../support/session-info.ts";

const none = { now: NOW, dismissed: new Set<string>(), held: [] };

describe("the need of a program that waits", () => {
	it("a question asks, in the program's own words", () => {
		expect(needOf(asking("Push 3 commits? [y/N] ", { choices: ["y", "N"] }), none)).toEqual({
			kind: "asks",
			since: NOW - 4 * MINUTE,
			question: "Push 3 commits? [y/N]",
			choices: ["y", "N"],
		});
	});

	it.each([
		"Name:",
		"Continue?",
		"Overwrite (yes/no)",
		"Proceed [Y/n] ",
		"Press any key to continue . . .",
		"> Go on? ",
		"package name: (npmi) ",
		"❯ 1. Yes, and do not ask again",
	])("asks by %j", (prompt) => {
		expect(needOf(asking(prompt), none)?.kind).toBe("asks");
	});

	it.each([">>> ", "", "alert(1)>", "done [5]", "ledger=> ", "(gdb) x", "mysql> ", "❯ ", "> 1", "at x (y)"])(
		"the prompt %j takes commands and does not ask",
		(prompt) => {
			expect(needOf(asking(prompt), none)).toBeUndefined();
		},
	);

	it("a read without echo needs a secret, whatever the output", () => {
		expect(needOf(asking("", { kind: "secret" }), none)).toMatchObject({ kind: "secret", question: "" });
	});

	it("a shell at its prompt and a full-screen program need nothing, unless they offer a choice", () => {
		expect(needOf(asking("Really?", { kind: "prompt" }), none)).toBeUndefined();
		expect(needOf(asking("file: ", { kind: "tui" }), none)).toBeUndefined();
		expect(needOf(asking("Allow? (y/n)", { kind: "tui", choices: ["y", "n"] }), none)?.kind).toBe("asks");
	});
});

describe("the need of a coding agent", () => {
	const agentWith = (changes: Partial<AgentMessage>): AgentMessage => ({
		app: "codex",
		state: "blocked",
		kind: "permission",
		question: "Run ls?",
		details: null,
		choices: [{ id: "1", label: "Yes" }],
		progress: null,
		title: null,
		children: [],
		episode: 1,
		offset: 1,
		since: NOW - MINUTE,
		signal: "osc7501",
		confidence: "sure",
		...changes,
	});

	it("a blocked agent needs a user, with its question, or else with its kind", () => {
		const blocked = listed({ overview: { agent: agentWith({}) } });
		// Its choices are no texts to type.
		const need = { kind: "asks", since: NOW - MINUTE, question: "Run ls?", choices: [], agent: agentWith({}) };
		expect(needOf(blocked, none)).toEqual(need);
		const unread = listed({ overview: { agent: agentWith({ question: null, kind: "trust" }) } });
		expect(needOf(unread, none)?.question).toBe("asks for trust");
	});

	it("an agent in another state needs nothing, whatever the kernel says and however long it is silent", () => {
		for (const state of ["working", "done", "idle", "error"] as const) {
			const { overview } = asking("Allow? (y/n)", { kind: "tui", choices: ["y", "n"] });
			const quiet = { usualIntervalMs: 1, lastOutputAt: NOW - 1_000 * MINUTE };
			expect(
				needOf(listed({ overview: { ...overview, ...quiet, agent: agentWith({ state }) } }), none),
			).toBeUndefined();
		}
	});
});

it("the text of an agent is its own, else the last row of its screen, after its subagents", () => {
	const base = {
		app: "codex",
		kind: null,
		question: null,
		details: null,
		choices: [],
		progress: null,
		title: null,
		children: [],
		episode: 1,
		offset: 1,
		since: NOW,
		signal: "osc7501" as const,
		confidence: "sure" as const,
	};
	const working = { ...base, state: "working" as const };
	const child = { id: "sub", app: null, kind: null, title: null, details: null, progress: null, since: NOW };
	const children = [
		{ ...child, state: "working" as const },
		{ ...child, state: "blocked" as const },
		{ ...child, state: "done" as const },
	];
	expect(agentText({ agent: working, lastLine: "Reading files" })).toBe("Reading files");
	expect(agentText({ agent: { ...working, title: "Fix tests" }, lastLine: "Reading files" })).toBe("Fix tests");
	expect(agentText({ agent: { ...working, children }, lastLine: null })).toBe("2 subagents, 1 blocked");
	expect(agentLabel({ ...working, progress: 40 })).toBe("working 40 %");
	expect(agentLabel({ ...base, state: "blocked", kind: "permission" })).toBe("asks permission");
});

describe("the need of a program that has ended", () => {
	const ended = (exit: NonNullable<ReturnType<typeof listed>["exit"]>) =>
		listed({ state: "closed", exit, endedAt: NOW - MINUTE, overview: { lastLine: "npm error 403" } });

	it("a failure needs attention until it is dismissed", () => {
		const failed = ended({ code: 1, signal: null });
		expect(needOf(failed, none)).toMatchObject({ kind: "failed", since: NOW - MINUTE, question: "npm error 403" });
		expect(needOf(failed, { ...none, dismissed: new Set([dismissalKey(failed)]) })).toBeUndefined();
		expect(needOf(ended({ code: null, signal: "SIGSEGV" }), none)?.kind).toBe("failed");
		expect(needOf(ended({ code: null, signal: "SIGKILL", reason: "oom" }), none)?.kind).toBe("failed");
	});

	it("a success, and an end that a user wanted, need nothing", () => {
		expect(needOf(ended({ code: 0, signal: null }), none)).toBeUndefined();
		expect(needOf(ended({ code: null, signal: "SIGTERM", reason: "killed", by: "ci" }), none)).toBeUndefined();
		expect(needOf(ended({ code: null, signal: "SIGTERM", reason: "timeout" }), none)).toBeUndefined();
		expect(needOf(listed({ state: "lost" }), none)).toBeUndefined();
	});

	it.each([
		[["bash"], false],
		[["/usr/bin/zsh", "-l"], false],
		[["bash", "--norc", "-i"], false],
		[["bash", "-lc", "make"], true],
		[["/bin/sh", "-c", "exit 7"], true],
		[["bash", "deploy.sh"], true],
		[["rsync"], true],
	])("%j with exit code 7 is a failure, unless a user left a shell: %s", (argv, isFailure) => {
		const left = { ...ended({ code: 7, signal: null }), argv };
		expect(needOf(left, none)?.kind).toBe(isFailure ? "failed" : undefined);
		expect(needOf({ ...left, exit: { code: null, signal: "SIGSEGV" } }, none)?.kind).toBe("failed");
	});
});

describe("the need of a silent program", () => {
	const silent = (minutes: number, usualIntervalMs: number | null) =>
		listed({ overview: { lastOutputAt: NOW - minutes * MINUTE, usualIntervalMs } });

	it("a silence of twenty usual intervals and ten minutes needs attention", () => {
		expect(needOf(silent(47, 2_000), none)).toMatchObject({ kind: "quiet", since: NOW - 47 * MINUTE });
		expect(needOf(silent(9, 2_000), none)).toBeUndefined();
		expect(needOf(silent(47, 3 * MINUTE), none)).toBeUndefined();
		expect(needOf(silent(61, 3 * MINUTE), none)?.kind).toBe("quiet");
	});

	it("the silence before an answer is none after it", () => {
		const { overview } = silent(12, 2_000);
		const answered = listed({ overview: { ...overview, activeAt: NOW - 1_000 } });
		expect(needOf(answered, none)).toBeUndefined();
		const since = NOW - 11 * MINUTE;
		const long = listed({ overview: { ...overview, lastOutputAt: NOW - 20 * MINUTE, activeAt: since } });
		expect(needOf(long, none)).toMatchObject({ kind: "quiet", since });
	});

	it("a silence needs nothing without a usual interval, while the program waits, and after it was dismissed", () => {
		expect(needOf(silent(600, null), none)).toBeUndefined();
		const waiting = { kind: "prompt" as const, prompt: "$ ", since: 0, offset: 0, episode: 1, program: null };
		expect(needOf(listed({ overview: { ...silent(600, 1_000).overview, waiting } }), none)).toBeUndefined();
		const dismissed = new Set([dismissalKey(silent(47, 2_000))]);
		expect(needOf(silent(47, 2_000), { ...none, dismissed })).toBeUndefined();
		// It wrote again, and fell silent again.
		expect(needOf(silent(46, 2_000), { ...none, dismissed })?.kind).toBe("quiet");
	});
});

it("a held action is the first need of a session, and of one that waits to be started", () => {
	const circumstances = {
		...none,
		held: [held(), held({ id: "a_2", session: { ...held().session, id: "bbbb" }, kind: "start" })],
	};
	const question = "agent wants to type: rm -rf it";
	const need = { kind: "approval", since: NOW - MINUTE, question, approval: { id: "a_1" } };
	for (const session of [asking("Go on?"), listed({ state: "closed" })]) {
		expect(needOf(session, circumstances)).toMatchObject(need);
	}
	const sessions = new Map([["aaaa", listed()]]);
	const all = withPendingStarts(sessions, circumstances.held);
	expect(all.map(({ id, name }) => [id, name])).toEqual([
		["aaaa", null],
		["bbbb", "vite"],
	]);
	expect(groupSessions(all, { q: "", workspace: undefined, labels: [] }, circumstances).needing).toHaveLength(2);
	expect(withPendingStarts(new Map([...sessions, ["bbbb", listed({ id: "bbbb" })]]), circumstances.held)).toHaveLength(
		2,
	);
});

it("needs are sorted: held actions, then questions, the oldest of each first", () => {
	const need = (kind: "asks" | "secret" | "failed" | "quiet", since: number) => ({
		session: listed(),
		need: { kind, since, question: "", choices: [] },
	});
	const approval = {
		session: listed(),
		need: { ...need("asks", 8).need, kind: "approval", approval: held() },
	} as const;
	const sorted = [
		need("quiet", 1),
		approval,
		need("failed", 2),
		need("asks", 9),
		need("secret", 3),
		need("asks", 5),
	].sort(compareNeeds);
	expect(sorted.map(({ need: { kind, since } }) => `${kind} ${since}`)).toEqual([
		"approval 8",
		"asks 5",
		"asks 9",
		"secret 3",
		"failed 2",
		"quiet 1",
	]);
});

it("a session is active for five seconds after output, and never after its end", () => {
	expect(isActive(listed({ overview: { lastOutputAt: NOW - 4_999 } }), NOW)).toBe(true);
	expect(isActive(listed({ overview: { lastOutputAt: NOW - 5_000 } }), NOW)).toBe(false);
	expect(isActive(listed({ state: "closed" }), NOW)).toBe(false);
});
