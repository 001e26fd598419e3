/** The input of real agents. */

import { expect, it } from "vitest";
import { builtinRules } from "../../../../src/services/agents/screen-rules/builtin/index.ts";
import { readAgentInput } from "../../../../src/services/agents/screen-rules/read-input.ts";
import { type AgentRecording, agentRecordings, rendered } from "../../../support/agent-recordings.ts";

function inputOf(recording: AgentRecording): string | null | undefined {
	const rules = builtinRules.find(({ agent }) => agent === recording.app);
	return rules && readAgentInput(rendered(recording), rules);
}

/** Copilot CLI had not shown the text yet. */
const unsent = agentRecordings().filter(({ state, app }) => state === "unsent" && app !== "copilot");
/** Where the recorder left a draft. */
const DRAFTS = new Set(["opencode-1.18.33 80x24 denied"]);
const resting = agentRecordings().filter(
	({ name, state, expected }) => !state.endsWith("unsent") && expected.kind === null && !DRAFTS.has(name),
);
/** Codex shows what is typed while it starts, and takes no Enter. */
const starting = agentRecordings().filter(({ state }) => state === "start-unsent");

it.each(resting)("the input of $name is empty", (recording) => {
	expect(inputOf(recording)).toBe("");
});

it.each(unsent)("the input of $name has the text", (recording) => {
	expect(inputOf(recording)).toBe("typed but unsent 1. Yes");
});

it.each(starting)("the input of $name is not ready", (recording) => {
	expect(inputOf(recording)).toBeNull();
});
