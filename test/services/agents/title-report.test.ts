import { expect, test } from "vitest";
import { titleReport } from "../../../src/services/agents/title-report.ts";

const GROUP = 7;

function stateOf(text: string, app: string | undefined, foreground: number | null = GROUP) {
	const title = { text, offset: 3, at: 1_000, foreground: GROUP };
	return titleReport({ title, foreground }, app)?.state ?? null;
}

test.each([
	["codex", "[ ! ] Action Required | project", "blocked"],
	["codex", "[ . ] Action Required | project", "blocked"],
	["codex", "⠏ project", "working"],
	["codex", "project", null],
	["gemini", "✋  Action Required (project)   ", "blocked"],
	["gemini", "✦  Working… (project)", "working"],
	["gemini", "◇  Ready (project)", "idle"],
	["claude-code", "◐ Fix the build", "working"],
	["claude-code", "✳ Fix the build", null],
	["opencode", "⠏ Action Required", null],
])("the title of %s %j shows %s", (app, title, state) => {
	expect(stateOf(title, app)).toBe(state);
});

test("the title of one agent says nothing about another program", () => {
	expect(stateOf("[ ! ] Action Required | project", "gemini")).toBeNull();
	expect(stateOf("[ ! ] Action Required | project", undefined)).toBeNull();
});

test("a title that another program has set says nothing", () => {
	expect(stateOf("⠏ project", "codex", GROUP + 1)).toBeNull();
	expect(stateOf("⠏ project", "codex", null)).toBeNull();
	expect(titleReport({ title: null, foreground: GROUP }, "codex")).toBeNull();
});
