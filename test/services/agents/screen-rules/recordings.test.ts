/** Screens of real agents: the rules read each state of each recording. */

import { describe, expect, it } from "vitest";
import { builtinRules } from "../../../../src/services/agents/screen-rules/builtin/index.ts";
import type { AgentRules } from "../../../../src/services/agents/screen-rules/format.ts";
import { explainAgentScreen } from "../../../../src/services/agents/screen-rules/read-screen.ts";
import { agentRecordings, rendered } from "../../../support/agent-recordings.ts";

const recordings = agentRecordings();

/** States in which the screen has no sign of the state, and another signal has to tell it. */
const UNMARKED = new Set(["codex working"]);

function rulesOf(app: string): AgentRules {
	const rules = builtinRules.find(({ agent }) => agent === app);
	if (!rules) throw new Error(`there are no rules for ${app}`);
	return rules;
}

describe("the screen rules", () => {
	it.each(recordings)("read $name", (recording) => {
		const { app, state, expected } = recording;
		const { reading, tried } = explainAgentScreen(rendered(recording), rulesOf(app));
		if (reading === null && UNMARKED.has(`${app} ${state}`)) return;
		expect(reading?.app, JSON.stringify(tried)).toBe(expected.app);
		expect(expected.state).toContain(reading?.state);
		const dialog = reading?.dialog ?? null;
		expect(dialog?.kind ?? null).toBe(expected.kind);
		if (expected.kind === null) return;
		expect(dialog?.question).toBe(expected.question);
		expect(dialog?.choices.map(({ label }) => label)).toEqual(expected.choices);
		expect(dialog?.pointed).toBe(expected.choices?.length === 0 ? null : 0);
	});

	it.each(recordings.filter(({ expected }) => expected.kind === "permission"))(
		"know the command and the choices for a policy: $name",
		(recording) => {
			const dialog = explainAgentScreen(rendered(recording), rulesOf(recording.app)).reading?.dialog;
			// Copilot draws a description above the command, and a command of two paragraphs looks the same. Claude Code
			// 2.1.197 draws it below the command, like a second line of it. opencode cuts a command off without a sign.
			const isKnown = recording.state === "permission-shell" && !/^copilot|^opencode|2\.1\.197/.test(recording.name);
			expect(dialog?.command).toBe(isKnown ? "touch made-by-agent.txt" : null);
			for (const pattern of [dialog?.rule.allows, dialog?.rule.denies]) {
				expect(dialog?.choices.filter(({ label }) => new RegExp(pattern ?? "", "u").test(label))).toHaveLength(1);
			}
		},
	);

	it.each(recordings)("of other agents read no dialog on the screen of $name", (recording) => {
		const screen = rendered(recording);
		for (const rules of builtinRules.filter(({ agent }) => agent !== recording.app)) {
			const { reading } = explainAgentScreen(screen, rules);
			// The boxes and footers of some agents are alike. The process in front decides whose rules are used.
			if (reading?.dialog && recording.expected.kind !== null) continue;
			expect(reading?.dialog ?? null).toBeNull();
		}
	});
});

it("every rule has an id of its own that begins with its agent", () => {
	const ids = builtinRules.flatMap(({ agent, dialogs, states }) =>
		[...dialogs, ...states].map(({ id }) => ({ agent, id })),
	);
	expect(new Set(ids.map(({ id }) => id)).size).toBe(ids.length);
	for (const { agent, id } of ids) expect(id.startsWith(`${agent}.`)).toBe(true);
});
