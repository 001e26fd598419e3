import { expect, test } from "vitest";
import { SignalCollector, type TerminalSignals } from "../../../src/core/terminal/terminal-signals.ts";
import { statusReport } from "../../../src/services/agents/status-report.ts";

const AGENT_GROUP = 7;
const SHELL_GROUP = 3;

/** The signals of a terminal after these reports of a foreground process group. */
function signalsAfter(bodies: readonly string[], foreground: number = AGENT_GROUP): TerminalSignals {
	const signals = new SignalCollector({ now: () => 1_000, foreground: () => AGENT_GROUP });
	let offset = 0;
	for (const body of bodies) {
		const text = `\u001b]7501;${body}`;
		signals.noteString(text, { offset, end: offset + text.length + 1 }, "\u0007");
		offset += text.length + 1;
	}
	return { ...signals.read(offset), foreground };
}

const reportAfter = (...bodies: string[]) => statusReport(signalsAfter(bodies), "node");
const base64 = (text: string) => Buffer.from(text).toString("base64");

test("without records there is no report", () => {
	expect(reportAfter()).toBeNull();
	expect(reportAfter("state=working:app=x", "state=clear")).toBeNull();
});

test("the root record gives the state, and its message the question of a blocked one", () => {
	const body = `state=blocked:kind=auth:app=codex:msg=${base64("Sign in?")}`;
	expect(reportAfter(body)).toMatchObject({ app: "codex", state: "blocked", kind: "login", question: "Sign in?" });
	expect(reportAfter(`state=done:msg=${base64("Wrote it")}`)).toMatchObject({ details: "Wrote it", question: null });
	expect(reportAfter("state=working")).toMatchObject({ app: "node" });
});

test("invisible formatting is left out of texts", () => {
	expect(reportAfter(`state=done:msg=${base64("a\u202eb\u2066c")}`)?.details).toBe("abc");
});

test("a blocked child blocks the session, whatever the root reports", () => {
	for (const root of ["working", "idle", "done", "error"]) {
		const child = `state=blocked:kind=permission:id=sub/1:msg=${base64("Run ls?")}`;
		expect(reportAfter(`state=${root}:app=claude-code`, child), root).toMatchObject({
			...{ app: "claude-code", state: "blocked", kind: "permission", question: "Run ls?" },
			children: [{ id: "sub/1", app: "claude-code", state: "blocked", kind: "permission", details: "Run ls?" }],
		});
	}
	const both = ["state=blocked:kind=question", "state=blocked:kind=permission:id=a"];
	expect(reportAfter(...both)).toMatchObject({ kind: "question" });
});

test("an agent works as long as a child does", () => {
	for (const root of ["idle", "done"]) {
		const children = ["state=working:id=a", "state=working:id=b", "state=done:id=c"];
		expect(reportAfter(`state=${root}`, ...children), root).toMatchObject({ state: "working" });
	}
	expect(reportAfter("state=error", "state=working:id=a")).toMatchObject({ state: "error" });
	expect(reportAfter("state=done", "state=idle:id=a", "state=done:id=b")).toMatchObject({ state: "done" });
	expect(reportAfter("state=idle", "state=working:id=a", "state=clear:id=a")).toMatchObject({ state: "idle" });
});

test("children without a root record give the state", () => {
	expect(reportAfter("state=done:id=a", "state=working:id=b")).toMatchObject({ state: "working" });
	expect(reportAfter("state=idle:id=a", "state=done:id=b:app=x")).toMatchObject({ state: "done", app: "x" });
});

test("only results are left of a program that is no longer in front", () => {
	const working = signalsAfter(["state=working:app=codex"], SHELL_GROUP);
	expect(statusReport(working, "bash")).toBeNull();
	const done = signalsAfter(["state=done:app=codex", "state=working:id=a"], SHELL_GROUP);
	expect(statusReport(done, "bash")).toMatchObject({ state: "done", app: "codex", isOver: true, children: [] });
});
