/** Files of screen rules. */

import { execFileSync } from "node:child_process";
import { truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { builtinRules } from "../../../../src/services/agents/screen-rules/builtin/index.ts";
import { readAgentScreen } from "../../../../src/services/agents/screen-rules/read-screen.ts";
import { readRuleFiles } from "../../../../src/services/agents/screen-rules/rule-files.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";

const OWN = {
	agent: "my-agent",
	programs: ["my-agent"],
	dialogs: [
		{
			id: "my-agent.permission",
			kind: "permission",
			footer: "^Enter to confirm$",
			menu: "numbered",
			details: "above",
			choose: "digit",
		},
	],
	states: [],
};

it("a file adds an agent, and rules that come before the built-in ones of a known agent", async () => {
	const directory = await temporaryDirectory();
	await writeFile(join(directory, "own.json"), JSON.stringify(OWN));
	const forCodex = { ...OWN, agent: "codex", dialogs: [{ ...OWN.dialogs[0], id: "own.codex" }] };
	await writeFile(join(directory, "codex.json"), JSON.stringify(forCodex));
	await writeFile(join(directory, "notes.txt"), "no rules");
	const rules = await readRuleFiles(directory, builtinRules);
	expect(rules.map(({ agent }) => agent)).toEqual([...builtinRules.map(({ agent }) => agent), "my-agent"]);
	const own = rules.find(({ agent }) => agent === "my-agent");
	const lines = ["May I go on?", "", "❯ 1. Yes", "  2. No", "", "Enter to confirm"];
	const screen = { lines, cols: 80, cursor: { row: 0, col: 0, visible: true } };
	expect(own && readAgentScreen(screen, own)).toMatchObject({
		rule: "my-agent.permission",
		dialog: { question: "May I go on?", pointed: 0 },
	});
	const codex = rules.find(({ agent }) => agent === "codex");
	expect(codex?.dialogs[0]?.id).toBe("own.codex");
	expect(codex?.programs).toEqual(["my-agent", "codex"]);
	expect(codex?.input).toBeDefined();
});

it("a directory that does not exist adds nothing", async () => {
	expect(await readRuleFiles("/nonexistent/agents", builtinRules)).toEqual(builtinRules);
});

it.each([
	["{", "it is not JSON"],
	[JSON.stringify({ ...OWN, programs: [] }), "programs: must not have fewer than 1 items"],
	[JSON.stringify({ ...OWN, more: 1 }), "more: there is no such field"],
	[
		JSON.stringify({ ...OWN, states: [{ id: "my-agent.idle", state: "idle", rows: 1, all: ["("] }] }),
		'"(" is not a regular expression: Invalid regular expression: /(/mu: Unterminated group',
	],
])("an invalid file is refused with its name and the fault: %s", async (text, fault) => {
	const directory = await temporaryDirectory();
	const path = join(directory, "own.json");
	await writeFile(path, text);
	const refused = await readRuleFiles(directory, builtinRules).catch((error: unknown) => error as Error);
	expect(refused).toMatchObject({ code: "invalid_argument" });
	expect("message" in refused && refused.message.startsWith(`${path}: `)).toBe(true);
	expect("message" in refused && refused.message).toContain(fault);
});

it("a named pipe is refused without being opened", async () => {
	const directory = await temporaryDirectory();
	const path = join(directory, "own.json");
	execFileSync("mkfifo", [path]);
	await expect(readRuleFiles(directory, builtinRules)).rejects.toMatchObject({
		code: "invalid_argument",
		message: `${path}: it is not a file`,
	});
});

it("a file above the limit is refused without being read", async () => {
	const directory = await temporaryDirectory();
	const path = join(directory, "own.json");
	await writeFile(path, "");
	await truncate(path, 8 * 1024 ** 3);
	await expect(readRuleFiles(directory, builtinRules)).rejects.toMatchObject({
		code: "invalid_argument",
		message: `${path}: it is larger than 262144 bytes`,
	});
});
