/** Decisions of policies about commands. */

import { expect, onTestFinished, test } from "vitest";
import type { AgentPolicy } from "../../../../src/services/agents/policy/policy-file.ts";
import { judged, policyFor } from "../../../../src/services/agents/policy/verdict.ts";
import { GateJudge } from "../../../../src/services/gates/judge.ts";

const policy: AgentPolicy = { deny: ["rm -rf", "\\bsudo\\b"], allow: ["npm (?:test|run build)", "ls"] };

test.each([
	["npm test", { decision: "allow" }],
	["npm run build", { decision: "allow" }],
	["ls", { decision: "allow" }],
	["ls; touch file", { decision: "ask", reason: "always" }],
	["npm test && rm -rf build", { decision: "deny" }],
	["sudo npm test", { decision: "deny" }],
	["touch file", { decision: "ask", reason: "always" }],
	["npm test\u2028", { decision: "ask", reason: "unreadable" }],
	["npm\u200b test", { decision: "ask", reason: "unreadable" }],
	["npm test\nls", { decision: "ask", reason: "unreadable" }],
	[null, { decision: "ask", reason: "unreadable" }],
])("the command %j is decided: %j", async (command, verdict) => {
	const judge = new GateJudge();
	onTestFinished(() => judge.close());
	expect(await judged({ command }, policy, { judge: judge.judge, account: "test" })).toEqual(verdict);
});

test("the first policy for the workspace and the agent counts", () => {
	const policies: AgentPolicy[] = [{ workspaces: ["ci"], agents: ["codex"] }, { workspaces: ["ci"] }];
	expect(policyFor(policies, { workspace: "ci", app: "codex" })).toBe(policies[0]);
	expect(policyFor(policies, { workspace: "ci", app: "gemini" })).toBe(policies[1]);
	expect(policyFor(policies, { workspace: "default", app: "codex" })).toBeUndefined();
});
