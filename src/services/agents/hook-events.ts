/**
 * What the hooks of coding agents say about their state.
 *
 * Agents name their events alike, in different spellings, and some run the hooks of others. So one table holds for all:
 * an event has the same meaning from every agent, with few exceptions.
 */

import type { StatusKind } from "../../core/terminal/program-status.ts";
import type { AgentState } from "../../words/agent.ts";

/** The state that an event reports; `clear` ends all reports. */
export type HookState = {
	readonly state: AgentState | "clear";
	readonly kind: StatusKind | null;
	/** The subject of a question, or an error. */
	readonly message: string | null;
};

type Fields = Readonly<Record<string, unknown>>;

/** In UTF-16 units, as in a report of program status. @limit text that a hook reports | it is cut */
const MESSAGE_LENGTH = 2_048;

/** Tools that ask the user. With permissions bypassed, some agents run no other hook for them. */
const QUESTION_TOOLS = /^(?:AskUserQuestion|ExitPlanMode|ask_user|request_user_input|question)$/;
const PERMISSION_NOTICES = /^(?:permission_prompt|worker_permission_prompt|ToolPermission)$/;
const QUESTION_NOTICES = /^elicitation_dialog$/;
/** The subject of a tool's input, best first. */
const SUBJECTS = ["command", "cmd", "file_path", "filePath", "path", "url", "question", "plan", "description"];

/** By event; the first letter is small. */
const STATES: ReadonlyMap<string, (fields: Fields, app: string) => HookState | null> = new Map([
	// After it has compacted its context, an agent goes on.
	["sessionStart", ({ source }) => (source === "compact" ? null : plain("idle"))],
	["sessionEnd", () => plain("clear")],
	...events(["userPromptSubmit", "userPromptSubmitted", "beforeAgent"], () => plain("working")),
	...events(["preToolUse", "beforeTool"], (fields) => (asksUser(fields) ? blocked(fields) : plain("working"))),
	...events(["postToolUse", "postToolUseFailure", "afterTool", "elicitationResult"], () => plain("working")),
	// Copilot runs it for each tool, before it decides whether to ask.
	["permissionRequest", (fields, app) => (app === "copilot" ? null : blocked(fields))],
	["elicitation", (fields) => asking("question", text(fields.message))],
	["notification", noticeState],
	...events(["stop", "agentStop", "afterAgent"], () => plain("done")),
	...events(["stopFailure", "errorOccurred"], failed),
	["interrupt", () => plain("idle")],
	// opencode.
	...events(["permission.asked", "permission.updated"], (fields) => asking("permission", subjectOf(fields))),
	["question.asked", (fields) => asking("question", subjectOf(fields))],
	...events(["permission.replied", "question.replied", "question.rejected"], () => plain("working")),
	["session.status", ({ status }) => plain(typeOf(status) === "idle" ? "done" : "working")],
	["session.idle", () => plain("done")],
	["session.error", (fields) => (nameOf(fields.error) === "MessageAbortedError" ? plain("idle") : failed(fields))],
]);

/** Null for an event that says nothing. `app` is the agent that runs the hook. */
export function stateOfHook(event: string, payload: unknown, app: string): HookState | null {
	const fields = isFields(payload) ? payload : {};
	const name = event.slice(0, 1).toLowerCase() + event.slice(1);
	const found = STATES.get(name)?.(fields, app) ?? null;
	// A subagent's question stops the agent. Its other events are not the agent's.
	const isSubagent = text(fields.agent_id) !== null;
	return isSubagent && found?.state !== "blocked" ? null : found;
}

/** A line of plain text, at most as long as a report may have. */
export function hookText(value: unknown): string | null {
	const line = text(value)
		?.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ")
		.trim();
	return line ? line.slice(0, MESSAGE_LENGTH) : null;
}

function events(
	names: readonly string[],
	state: (fields: Fields, app: string) => HookState | null,
): [string, (fields: Fields, app: string) => HookState | null][] {
	return names.map((name) => [name, state]);
}

function plain(state: HookState["state"]): HookState {
	return { state, kind: null, message: null };
}

function asking(kind: StatusKind, message: string | null): HookState {
	return { state: "blocked", kind, message: hookText(message) };
}

function blocked(fields: Fields): HookState {
	return asking(asksUser(fields) ? "question" : "permission", subjectOf(fields));
}

function failed(fields: Fields): HookState {
	const { error } = fields;
	const data = isFields(error) && isFields(error.data) ? error.data.message : undefined;
	const message = text(error) ?? text(data) ?? (isFields(error) ? text(error.message) : null);
	return { state: "error", kind: null, message: hookText(message ?? text(fields.message)) };
}

/** Others, such as that an agent has been idle for a minute, are no questions. */
function noticeState(fields: Fields): HookState | null {
	const type = text(fields.notification_type) ?? text(fields.notificationType) ?? "";
	const details = isFields(fields.details) ? fields.details : {};
	const isQuestion = asksUser({ tool_name: details.type });
	if (PERMISSION_NOTICES.test(type)) {
		return asking(isQuestion ? "question" : "permission", subjectOf(details) ?? text(fields.message));
	}
	return QUESTION_NOTICES.test(type) ? asking("question", text(fields.message)) : null;
}

function asksUser(fields: Fields): boolean {
	return QUESTION_TOOLS.test(toolOf(fields) ?? "");
}

function toolOf(fields: Fields): string | null {
	return text(fields.tool_name) ?? text(fields.toolName) ?? text(fields.permission);
}

/** For example `Bash: touch notes.txt`. A question stands alone. */
function subjectOf(fields: Fields): string | null {
	const tool = toolOf(fields);
	const input = [fields.tool_input, fields.toolInput, fields.toolArgs, fields].find(isFields) ?? {};
	const [question] = Array.isArray(input.questions) ? (input.questions as unknown[]) : [];
	const asked = isFields(question) ? text(question.question) : null;
	if (asked !== null) return asked;
	const patterns = Array.isArray(input.patterns) ? input.patterns.filter((one) => typeof one === "string") : [];
	const subject = SUBJECTS.map((name) => text(input[name])).find((one) => one !== null) ?? text(patterns.join(" "));
	return [tool, subject].filter((part) => part !== null).join(": ") || null;
}

function typeOf(value: unknown): string | null {
	return text(value) ?? (isFields(value) ? text(value.type) : null);
}

function nameOf(value: unknown): string | null {
	return isFields(value) ? text(value.name) : null;
}

function text(value: unknown): string | null {
	return typeof value === "string" && value !== "" ? value : null;
}

function isFields(value: unknown): value is Fields {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
