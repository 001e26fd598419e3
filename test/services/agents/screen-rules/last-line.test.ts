/** The last row of an agent's work, on the screens of real agents. */

import { expect, it } from "vitest";
import { builtinRules } from "../../../../src/services/agents/screen-rules/builtin/index.ts";
import { readLastLine } from "../../../../src/services/agents/screen-rules/last-line.ts";
import { agentRecordings, rendered } from "../../../support/agent-recordings.ts";

const recordings = agentRecordings().filter(({ cols }) => cols === 120);

function lastLine(app: string, state: string): string | null | undefined {
	const recording = recordings.find((one) => one.app === app && one.state === state);
	const rules = builtinRules.find(({ agent }) => agent === app);
	return recording && rules && readLastLine(rendered(recording), rules);
}

it.each([
	["codex", "working", /^about it, slowly\. \(7\)/],
	["codex", "done", /^All done\.$/],
	["codex", "error", /scripted error/],
	["claude-code", "done", /^All done\.$/],
	["copilot", "done", /^All done\.$/],
	["gemini", "done", /^All done\.$/],
	["opencode", "done", /^All done\.$/],
	["opencode", "error", /scripted error/],
])("the last line of %s that is %s is the last row of its work", (app, state, expected) => {
	expect(lastLine(app, state)).toMatch(expected);
});

it("it is never a border, or the input and its placeholder", () => {
	for (const { app, state, name } of recordings) {
		const line = lastLine(app, state);
		if (line === null) continue;
		expect(line, name).toMatch(/[\p{L}\p{N}]/u);
		expect(line, name).not.toMatch(/^[│┃╭╰─]|Ask Codex to do anything|Type your message/);
	}
});
