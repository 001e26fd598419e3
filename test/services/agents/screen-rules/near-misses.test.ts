/** Screens that look like dialogs and are none. */

import { describe, expect, it } from "vitest";
import { builtinRules } from "../../../../src/services/agents/screen-rules/builtin/index.ts";
import { readAgentInput } from "../../../../src/services/agents/screen-rules/read-input.ts";
import { readAgentScreen } from "../../../../src/services/agents/screen-rules/read-screen.ts";
import { agentRecordings, rendered } from "../../../support/agent-recordings.ts";

const dialogs = agentRecordings().filter(({ expected }) => expected.kind !== null);

/** The text rows of each recorded dialog, without empty ones at the end. */
const shown = dialogs.map((recording) => {
	const { lines } = rendered(recording);
	return { ...recording, lines: lines.slice(0, lines.findLastIndex((line) => line.trim() !== "") + 1) };
});

/** The input of each agent, as it is below everything else. */
const INPUTS: Readonly<Record<string, readonly string[]>> = {
	codex: [
		"",
		"› Ask Codex to do anything",
		"",
		"  gpt-5-codex default · /tmp/project",
		"  ← for agents · ? for shortcuts",
	],
	"claude-code": ["─".repeat(120), "❯ ", "─".repeat(120), "  ? for shortcuts · ← for agents"],
	gemini: [
		"",
		" Shift+Tab to accept edits",
		"▀".repeat(120),
		" >   Type your message or @path/to/file",
		"▄".repeat(120),
	],
	opencode: ["  ┃", "  ┃", "  ┃  Build · Fake Fake", `  ╹${"▀".repeat(80)}`, "   /tmp/project    ctrl+p commands"],
	copilot: [
		" /tmp/project",
		`╻${"▄".repeat(119)}`,
		"┃",
		`╹${"▀".repeat(119)}`,
		" ← open sidebar · Interactive · Manual Approval · / commands · ? help",
	],
};

function dialogOn(lines: readonly string[], app: string): unknown {
	const rules = builtinRules.find(({ agent }) => agent === app);
	if (!rules) throw new Error(`there are no rules for ${app}`);
	return readAgentScreen({ lines, cols: 120, cursor: { row: 0, col: 0, visible: true } }, rules)?.dialog ?? null;
}

const apps = Object.keys(INPUTS);

it("an open text field of Copilot CLI belongs to its dialog", () => {
	const line = "─".repeat(119);
	const lines = [
		line,
		" Copilot needs information.",
		" Which database should I use?",
		"",
		" Database:",
		"   SQLite",
		" ❯ Other (type your answer below)",
		"",
		" ↑/↓ select · enter accept · ctrl+d decline · esc cancel",
		line,
		`╻${"▄".repeat(118)}`,
		"┃ Type your answer...",
		`╹${"▀".repeat(118)}`,
	];
	expect(dialogOn(lines, "copilot")).toMatchObject({ question: "Which database should I use?", pointed: 1 });
});

it("Copilot CLI is idle also while its input holds a text", () => {
	const [place = "", top = "", , bottom = ""] = INPUTS.copilot ?? [];
	const lines = [place, top, "┃ half a thought", bottom, " Interactive · Manual Approval · @ files · # issues    gpt"];
	const rules = builtinRules.find(({ agent }) => agent === "copilot");
	const screen = { lines, cols: 120, cursor: { row: 2, col: 16, visible: true } };
	expect(rules && readAgentScreen(screen, rules)?.state).toBe("idle");
	expect(rules && readAgentInput(screen, rules)).toBe("half a thought");
});

describe.each(apps)("the rules for %s read no dialog", (app) => {
	const input = INPUTS[app] ?? [];

	it("in a dialog that is quoted above the input", () => {
		for (const { lines } of shown) expect(dialogOn([...lines, ...input], app)).toBeNull();
		for (const { lines } of shown) expect(dialogOn([...lines.map((line) => `  ${line}`), ...input], app)).toBeNull();
	});

	it("in a dialog that a pager or an editor shows", () => {
		const ends = [":", "(END)", "transcript.txt (END)", "~", '"session.diff" 40L, 1200B   1,1   Top', "-- INSERT --"];
		for (const { lines } of shown) for (const end of ends) expect(dialogOn([...lines, end], app)).toBeNull();
	});

	it("in a diff of a dialog", () => {
		for (const { lines } of shown)
			expect(dialogOn([...lines.map((line) => `+${line}`), '"a.diff" 9L'], app)).toBeNull();
	});

	it("in prose that asks", () => {
		const prose = [
			"● Would you like to run the following command? I can do it if you say yes.",
			"  Do you want to proceed? “Yes, and don’t ask again” is what I would choose.",
			"  1. Yes",
			"  2. No",
			"  Press enter to confirm or esc to cancel.",
		];
		expect(dialogOn([...prose, ...input], app)).toBeNull();
		expect(dialogOn(prose, app)).toBeNull();
		expect(dialogOn([...prose, "Do you want me to go on?"], app)).toBeNull();
	});

	it("in a numbered list without a pointer, or with two", () => {
		const list = (first: string, second: string) => [
			"Do you want to proceed?",
			`${first} 1. Yes, proceed`,
			`${second} 2. No, and tell Codex what to do differently`,
			"",
		];
		for (const footer of ["Esc to cancel · Tab to amend", "Press enter to confirm or esc to cancel"]) {
			expect(dialogOn([...list(" ", " "), footer], app)).toBeNull();
			expect(dialogOn([...list("❯", "❯"), footer], app)).toBeNull();
		}
	});

	it("in text that is typed and not submitted", () => {
		const typed = input.map((line) =>
			line.replace(/^(\s*[›❯>┃] *).*$/, "$1❯ 1. Yes 2. No Esc to cancel · Tab to amend"),
		);
		expect(dialogOn(["Do you want to proceed?", ...typed], app)).toBeNull();
	});

	it("in a spinner, a progress line or an empty screen", () => {
		for (const glyph of "⠋⠙⠹✻✽◐◓·✢") {
			expect(dialogOn([`${glyph} Churning… (3s · ↓ 87 tokens · esc to interrupt)`, ...input], app)).toBeNull();
		}
		expect(dialogOn([], app)).toBeNull();
		expect(dialogOn(["", ""], app)).toBeNull();
	});

	it("in a shell that has replaced the agent", () => {
		for (const { lines } of shown) expect(dialogOn([...lines, "user@host:~$ "], app)).toBeNull();
	});
});

it("a screen full of text that almost matches is read in a short time", () => {
	const fillers = [
		" ".repeat(400),
		`● ${" ".repeat(300)}x`,
		"┃ ",
		`  ▣  ${" · a".repeat(80)}`,
		"❯ ",
		"› ",
		" > ",
		"✦ ",
		"  Worked for • 1:1",
	];
	for (const filler of fillers) {
		const lines = [...Array.from({ length: 100 }, () => `${filler} .`), " > x", "  end"];
		for (const app of apps) dialogOn(lines, app);
	}
}, 5_000);
