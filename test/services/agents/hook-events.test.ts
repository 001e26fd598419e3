import { expect, test } from "vitest";
import { stateOfHook } from "../../../src/services/agents/hook-events.ts";

const stateOf = (event: string, payload: unknown = {}, app = "claude-code") => stateOfHook(event, payload, app);
const shell = { tool_name: "Bash", tool_input: { command: "touch file", description: "Create a file" } };
const question = { tool_name: "AskUserQuestion", tool_input: { questions: [{ question: "Which one?" }] } };

test.each([
	["Claude Code", ["SessionStart", "UserPromptSubmit", "PermissionRequest", "Stop", "StopFailure", "SessionEnd"]],
	["Gemini CLI", ["SessionStart", "BeforeAgent", null, "AfterAgent", null, "SessionEnd"]],
	["Copilot", ["sessionStart", "userPromptSubmitted", null, "agentStop", "errorOccurred", "sessionEnd"]],
	["opencode", [null, null, "permission.asked", "session.idle", "session.error", null]],
])("the events of %s have a state each", (_, names) => {
	const states = ["idle", "working", "blocked", "done", "error", "clear"];
	for (const [index, name] of names.entries()) {
		if (name !== null) expect(stateOf(name)?.state, name).toBe(states[index]);
	}
});

test("a permission names the tool and its subject, and a question is one", () => {
	const permission = { state: "blocked", kind: "permission" };
	expect(stateOf("PermissionRequest", shell)).toEqual({ ...permission, message: "Bash: touch file" });
	expect(stateOf("permission.asked", { permission: "bash", patterns: ["touch file"] })).toEqual({
		...permission,
		message: "bash: touch file",
	});
	const details = { type: "exec", title: "Confirm", command: "touch file" };
	const notice = { notification_type: "ToolPermission", message: "Tool Confirm", details };
	expect(stateOf("Notification", notice)).toEqual({ ...permission, message: "touch file" });
	const asked = { state: "blocked", kind: "question", message: "Which one?" };
	expect(stateOf("PreToolUse", question)).toEqual(asked);
	expect(stateOf("PermissionRequest", question)).toEqual(asked);
	expect(stateOf("question.asked", { questions: [{ question: "Which one?" }] })).toEqual(asked);
});

test("notices that ask nothing have no state", () => {
	const notice = (type: string) => stateOf("Notification", { notification_type: type, message: "Claude is waiting" });
	expect(notice("idle_prompt")).toBeNull();
	expect(notice("auth_success")).toBeNull();
	expect(notice("permission_prompt")).toMatchObject({ state: "blocked", kind: "permission" });
	expect(notice("elicitation_dialog")).toMatchObject({ state: "blocked", kind: "question" });
});

test("of a subagent only questions count", () => {
	expect(stateOf("PermissionRequest", { ...shell, agent_id: "a" })).toMatchObject({ state: "blocked" });
	for (const event of ["Stop", "SessionEnd", "UserPromptSubmit"]) expect(stateOf(event, { agent_id: "a" })).toBeNull();
	expect(stateOf("SubagentStop")).toBeNull();
});

test("Copilot runs a hook for permissions also when it does not ask", () => {
	expect(stateOf("permissionRequest", shell, "copilot")).toBeNull();
	expect(stateOf("PermissionRequest", shell, "copilot")).toBeNull();
});

test("a compacted session goes on, and an interrupted turn is no error", () => {
	expect(stateOf("SessionStart", { source: "compact" })).toBeNull();
	expect(stateOf("session.error", { error: { name: "MessageAbortedError" } })).toMatchObject({ state: "idle" });
	const failed = { error: { name: "APIError", data: { message: "quota\nexceeded" } } };
	expect(stateOf("session.error", failed)).toEqual({ state: "error", kind: null, message: "quota exceeded" });
	expect(stateOf("Interrupt")?.state).toBe("idle");
	expect(stateOf("session.status", { status: { type: "busy" } })?.state).toBe("working");
	expect(stateOf("session.status", { status: { type: "idle" } })?.state).toBe("done");
});

test("any payload is taken, and text is cut to one line", () => {
	for (const payload of [null, 7, "text", [], { tool_name: {} }, { tool_input: null }, { questions: {} }]) {
		expect(stateOf("PermissionRequest", payload)).toMatchObject({ state: "blocked", kind: "permission" });
	}
	const long = stateOf("PermissionRequest", { tool_name: "a\u001b[31m\r\nb".repeat(1_000) });
	expect(long?.message).toHaveLength(2_048);
	expect(long?.message).not.toMatch(/[\u0000-\u001f]/);
	for (const event of ["", "x", "__proto__", "constructor", "toString"]) expect(stateOf(event)).toBeNull();
});
