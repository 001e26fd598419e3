import { expect, test } from "vitest";
import type { AgentReport } from "../../../src/services/agents/agent-state.ts";
import { isOutdated, notificationReport } from "../../../src/services/agents/notification-report.ts";

const GROUP = 7;

function reportOf(text: string, app: string | undefined, foreground: number | null = GROUP): AgentReport | null {
	const notification = { text, offset: 30, at: 1_000, foreground: GROUP };
	return notificationReport({ notification, foreground }, app);
}

test.each([
	["codex", "Approval requested: touch made-by-agent.txt", "blocked", "permission"],
	["codex", "Codex wants to edit notes.txt", "blocked", "permission"],
	["codex", "Plan mode prompt: Which database?", "blocked", "question"],
	["codex", "Agent turn complete", "done", null],
	["gemini", "Gemini CLI needs your attention | Action required | Allow execution of: 'touch'?", "blocked", null],
	["gemini", "Gemini CLI session complete | Run finished | The session finished successfully.", "done", null],
	["opencode", "A new session: Permission needs input", "blocked", "permission"],
	["opencode", "Question needs input", "blocked", "question"],
	["opencode", "A new session: Session done", "done", null],
	["opencode", "Session error", "error", null],
	["claude-code", "Claude Code: Claude needs your permission to use Bash", "blocked", "permission"],
])("a notification of %s %j shows %s", (app, text, state, kind) => {
	expect(reportOf(text, app)).toMatchObject({ state, kind, question: state === "blocked" ? text : null });
});

test.each([
	["claude-code", "Claude Code: Claude is waiting for your input"],
	["codex", "I have fixed the build. Approval requested: no."],
	["opencode", "Session aborted"],
	["copilot", "Permission needs input"],
])("a notification of %s %j says nothing", (app, text) => {
	expect(reportOf(text, app)).toBeNull();
});

test("a notification of another program, or without a known agent, says nothing", () => {
	const text = "Approval requested: touch file";
	expect(reportOf(text, "codex", GROUP + 1)).toBeNull();
	expect(reportOf(text, "codex", null)).toBeNull();
	expect(reportOf(text, undefined)).toBeNull();
	expect(notificationReport({ notification: null, foreground: GROUP }, "codex")).toBeNull();
});

test("a later report of another state ends what a notification told of, and an earlier or equal one does not", () => {
	const notice = reportOf("Question needs input", "opencode") as AgentReport;
	const screen = (state: AgentReport["state"], offset: number): AgentReport => ({
		...notice,
		signal: "screen",
		state,
		offset,
	});
	expect(isOutdated(notice, [null, screen("working", 29)])).toBe(false);
	expect(isOutdated(notice, [screen("blocked", 31)])).toBe(false);
	expect(isOutdated(notice, [screen("idle", 31)])).toBe(true);
});
