/** The command of a permission dialog: known in full, or not at all. */

import { expect, test } from "vitest";
import { builtinRules } from "../../../../src/services/agents/screen-rules/builtin/index.ts";
import type { AgentRules } from "../../../../src/services/agents/screen-rules/format.ts";
import { readAgentScreen } from "../../../../src/services/agents/screen-rules/read-screen.ts";

const codex = builtinRules.find(({ agent }) => agent === "codex") as AgentRules;

function commandOf(subject: readonly string[]): string | null | undefined {
	const lines = [
		"  Would you like to run the following command?",
		"",
		...subject.map((line) => `  ${line}`),
		"",
		"› 1. Yes, proceed (y)",
		"  2. No, and tell Codex what to do differently (esc)",
		"",
		"  Press enter to confirm or esc to cancel",
	];
	const reading = readAgentScreen({ lines, cols: 80, cursor: { row: 0, col: 0, visible: true } }, codex);
	expect(reading?.dialog).toBeDefined();
	return reading?.dialog?.command;
}

test("a command in one row is known, whatever is said about it", () => {
	expect(commandOf(["$ npm test"])).toBe("npm test");
	expect(commandOf(["Environment: local", "", "Reason: It is safe.", "", "$ npm test"])).toBe("npm test");
});

test.each([
	["with several lines", ["$ npm test", "  rm -rf build"]],
	["with an empty line", ["$ npm test", "", "  rm -rf build"]],
	["above which its reason shows another one", ["Reason: only", "", "$ npm test", "", "$ rm -rf build"]],
	["below which something else is said", ["$ npm test", "", "Reason: It is safe."]],
	["that reaches the edge and may go on", [`$ npm test ${"x".repeat(68)}`]],
	["that is cut", ["$ npm test …"]],
	["that is cut with dots", ["$ npm test ..."]],
	["that is not there", ["Reason: It is safe."]],
])("a command %s is not known", (_name, subject) => {
	expect(commandOf(subject)).toBeNull();
});
