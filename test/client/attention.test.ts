import { describe, expect, it } from "vitest";
import { byUrgency, dismissalOf, grouped, isActive, needOf, withAwaited } from "../../src/client/index.ts";
import { asking, held, listed, MINUTE, NOW } from "../web/listed.ts";

const none = { now: NOW, dismissed: new Set<string>(), held: [] };

describe("a program that waits", () => {
	it("asks, if what it wrote is a question; it says so in its own words", () => {
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
		"does not ask by %j, which takes commands",
		(prompt) => {
			expect(needOf(asking(prompt), none)).toBeUndefined();
		},
	);

	it("wants a secret, whatever it wrote", () => {
		expect(needOf(asking("", { kind: "secret" }), none)).toMatchObject({ kind: "secret", question: "" });
	});

	it("is left alone as a shell at its prompt, and as one that has the screen to itself, unless that offers a choice", () => {
		expect(needOf(asking("Really?", { kind: "prompt" }), none)).toBeUndefined();
		expect(needOf(asking("file: ", { kind: "tui" }), none)).toBeUndefined();
		expect(needOf(asking("Allow? (y/n)", { kind: "tui", choices: ["y", "n"] }), none)?.kind).toBe("asks");
	});
});

describe("a program that has ended", () => {
	const ended = (exit: NonNullable<ReturnType<typeof listed>["exit"]>) =>
		listed({ state: "closed", exit, endedAt: NOW - MINUTE, overview: { lastLine: "npm error 403" } });

	it("needs somebody if that was not well, until it was seen", () => {
		const failed = ended({ code: 1, signal: null });
		expect(needOf(failed, none)).toMatchObject({ kind: "failed", since: NOW - MINUTE, question: "npm error 403" });
		expect(needOf(failed, { ...none, dismissed: new Set([dismissalOf(failed)]) })).toBeUndefined();
		expect(needOf(ended({ code: null, signal: "SIGSEGV" }), none)?.kind).toBe("failed");
		expect(needOf(ended({ code: null, signal: "SIGKILL", reason: "oom" }), none)?.kind).toBe("failed");
	});

	it("does not if it was, or ended as somebody wanted", () => {
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
	])("%j that is left with 7 is a failure, unless somebody left a shell: %s", (argv, isFailure) => {
		const left = { ...ended({ code: 7, signal: null }), argv };
		expect(needOf(left, none)?.kind).toBe(isFailure ? "failed" : undefined);
		expect(needOf({ ...left, exit: { code: null, signal: "SIGSEGV" } }, none)?.kind).toBe("failed");
	});
});

describe("a program that is silent", () => {
	const silent = (minutes: number, usualIntervalMs: number | null) =>
		listed({ overview: { lastOutputAt: NOW - minutes * MINUTE, usualIntervalMs } });

	it("needs somebody when it is so for twenty times as long as usual, and for ten minutes", () => {
		expect(needOf(silent(47, 2_000), none)).toMatchObject({ kind: "quiet", since: NOW - 47 * MINUTE });
		expect(needOf(silent(9, 2_000), none)).toBeUndefined();
		expect(needOf(silent(47, 3 * MINUTE), none)).toBeUndefined();
		expect(needOf(silent(61, 3 * MINUTE), none)?.kind).toBe("quiet");
	});

	it("does not when what is usual is not known, when it waits for somebody, and once that was seen", () => {
		expect(needOf(silent(600, null), none)).toBeUndefined();
		const waiting = { kind: "prompt" as const, prompt: "$ ", since: 0, offset: 0, episode: 1, program: null };
		expect(needOf(listed({ overview: { ...silent(600, 1_000).overview, waiting } }), none)).toBeUndefined();
		const dismissed = new Set([dismissalOf(silent(47, 2_000))]);
		expect(needOf(silent(47, 2_000), { ...none, dismissed })).toBeUndefined();
		// It spoke again, and fell silent again.
		expect(needOf(silent(46, 2_000), { ...none, dismissed })?.kind).toBe("quiet");
	});
});

it("needs somebody for what is held in it, whatever else it needs, and so does one that waits to be started", () => {
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
	const all = withAwaited(sessions, circumstances.held);
	expect(all.map(({ id, name }) => [id, name])).toEqual([
		["aaaa", null],
		["bbbb", "vite"],
	]);
	expect(grouped(all, { q: "", workspace: undefined, labels: [] }, circumstances).needing).toHaveLength(2);
	expect(withAwaited(new Map([...sessions, ["bbbb", listed({ id: "bbbb" })]]), circumstances.held)).toHaveLength(2);
});

it("what is held comes first, then questions, and of each kind whoever waits longest", () => {
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
	].sort(byUrgency);
	expect(sorted.map(({ need: { kind, since } }) => `${kind} ${since}`)).toEqual([
		"approval 8",
		"asks 5",
		"asks 9",
		"secret 3",
		"failed 2",
		"quiet 1",
	]);
});

it("it is active for five seconds after it wrote, and not once it has ended", () => {
	expect(isActive(listed({ overview: { lastOutputAt: NOW - 4_999 } }), NOW)).toBe(true);
	expect(isActive(listed({ overview: { lastOutputAt: NOW - 5_000 } }), NOW)).toBe(false);
	expect(isActive(listed({ state: "closed" }), NOW)).toBe(false);
});
