/** Prompts that are typed into agents and submitted. */

import { expect, it } from "vitest";
import { promptAgent } from "../../../src/services/agents/prompt.ts";
import { runningAgent, screenText } from "../../support/agents.ts";
import { type } from "../../support/local-screens.ts";

it.each(["codex", "claude"] as const)("a prompt for %s is typed and submitted", async (name) => {
	const agent = await runningAgent(name);
	await promptAgent(agent.typing, "tidy up");
	expect(await screenText(agent)).toContain("• finished tidy up");
});

it("a prompt is typed again when the agent drops it, and Enter is pressed again when the agent ignores it", async () => {
	const agent = await runningAgent("codex", "--drops-first --swallows-enter");
	await promptAgent(agent.typing, "tidy up");
	const text = await screenText(agent);
	expect(text).toContain("• finished tidy up");
	expect(text.match(/finished/g)).toHaveLength(1);
});

it("a prompt that a busy agent shows late is not typed again", async () => {
	const agent = await runningAgent("codex", "--busy-first");
	await promptAgent(agent.typing, "tidy up");
	expect(await screenText(agent)).toMatch(/^• finished tidy up$/m);
});

it("a prompt is refused while a dialog is open, with the dialog, and not one byte is typed", async () => {
	const agent = await runningAgent("codex");
	await promptAgent(agent.typing, "shell");
	await agent.typing.until(10_000, (found) => found?.reading?.dialog ?? undefined);
	const before = await screenText(agent);
	await expect(promptAgent(agent.typing, "1")).rejects.toMatchObject({
		code: "blocked",
		message:
			'the agent waits for an answer to the dialog "Would you like to run the following command?"; nothing was typed',
		extra: { agent: { state: "blocked", kind: "permission", choices: [{ id: "1" }, { id: "2" }] } },
	});
	expect(await screenText(agent)).toBe(before);
});

it("a prompt is refused while the input holds other text", async () => {
	const agent = await runningAgent("claude");
	await type(agent.session, "half a thou");
	await agent.typing.until(10_000, (found) => (found?.screen.lines.join().includes("half a thou") ? true : undefined));
	await expect(promptAgent(agent.typing, "tidy up")).rejects.toMatchObject({
		code: "conflict",
		message: "the agent's input holds a text that was not submitted; nothing was typed",
	});
	expect(await screenText(agent)).not.toContain("tidy");
});

it("a prompt that an earlier server has typed is not typed again, and submitted only if it is still there", async () => {
	const agent = await runningAgent("codex");
	const type = (text: string) => agent.typing.type([Buffer.from(text)], async () => {}, undefined, `prompt:${text}`);
	await type("first");
	await agent.typing.until(10_000, (found) => found?.screen.lines.join("\n").includes("› first") || undefined);
	await promptAgent(agent.typing, "first", "prompt:first");
	expect(await screenText(agent)).toContain("• finished first");
	await promptAgent(agent.typing, "first", "prompt:first");
	await promptAgent(agent.typing, "second", "prompt:second");
	await promptAgent(agent.typing, "second", "prompt:second");
	expect((await screenText(agent)).match(/• finished/g)).toHaveLength(2);
});
