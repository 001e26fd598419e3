/** Answers to the dialogs of agents. */

import { expect, it } from "vitest";
import { answerAgent } from "../../../src/services/agents/answer.ts";
import { promptAgent } from "../../../src/services/agents/prompt.ts";
import { type RunningAgent, runningAgent, screenText } from "../../support/agents.ts";

async function asked(agent: RunningAgent, prompt: string): Promise<number> {
	await promptAgent(agent.typing, prompt);
	return blockedEpisode(agent);
}

async function blockedEpisode({ typing }: RunningAgent): Promise<number> {
	await typing.until(10_000, (found) => found?.reading?.dialog ?? undefined);
	const state = await typing.view.state();
	expect(state?.state).toBe("blocked");
	return state?.episode ?? 0;
}

it("a choice with a number is typed as its digit, and the answer resolves once the dialog is gone", async () => {
	const agent = await runningAgent("codex");
	const episode = await asked(agent, "shell");
	await answerAgent(agent.typing, { episode, choice: "2" });
	expect(await screenText(agent)).toContain("• finished No, and tell Codex what to do differently (esc)");
	expect((await agent.typing.view.state())?.state).toBe("done");
});

it("a choice without a number is pointed at with arrow keys and confirmed with Enter", async () => {
	const agent = await runningAgent("claude", "--trust");
	const episode = await blockedEpisode(agent);
	expect((await agent.typing.view.state())?.kind).toBe("trust");
	await answerAgent(agent.typing, { episode, choice: "2" });
	expect(await screenText(agent)).toContain("• finished Yes, I trust this folder");
});

it("a choice of a dialog with two-digit numbers is pointed at, because its first digit is another choice", async () => {
	const agent = await runningAgent("claude");
	const episode = await asked(agent, "many");
	await answerAgent(agent.typing, { episode, choice: "11" });
	expect((await screenText(agent)).match(/• finished .*/g)).toEqual(["• finished Choice K"]);
});

it("a text with control characters is refused, and nothing is typed", async () => {
	const agent = await runningAgent("claude");
	const episode = await asked(agent, "question");
	const before = await screenText(agent);
	for (const text of ["Duck\u0003", "Duck\nDB", "Duck\u009b1~"]) {
		await expect(answerAgent(agent.typing, { episode, text })).rejects.toMatchObject({ code: "invalid_argument" });
	}
	expect(await screenText(agent)).toBe(before);
});

it("a text is typed into the field that its choice opens", async () => {
	const agent = await runningAgent("claude");
	const episode = await asked(agent, "question");
	await expect(answerAgent(agent.typing, { episode, choice: "3" })).rejects.toMatchObject({
		code: "invalid_choice",
		message: 'the choice "Type something." needs a text; nothing was typed',
	});
	await answerAgent(agent.typing, { episode, text: "DuckDB" });
	expect(await screenText(agent)).toContain("• finished DuckDB");
});

it("an answer to an earlier dialog is refused as stale, and nothing is typed", async () => {
	const agent = await runningAgent("codex");
	const episode = await asked(agent, "shell");
	await answerAgent(agent.typing, { episode, choice: "1" });
	const later = await asked(agent, "shell");
	const before = await agent.session.receipt("none");
	await expect(answerAgent(agent.typing, { episode, choice: "1" })).rejects.toMatchObject({ code: "stale" });
	expect(await agent.session.receipt("none")).toEqual(before);
	expect((await agent.typing.view.state())?.state).toBe("blocked");
	await answerAgent(agent.typing, { episode: later, choice: "1" });
	await expect(answerAgent(agent.typing, { episode: later, choice: "1" })).rejects.toMatchObject({ code: "stale" });
});

it("a choice that the dialog does not have is refused, and so is a text where none can be typed", async () => {
	const agent = await runningAgent("codex");
	const episode = await asked(agent, "shell");
	await expect(answerAgent(agent.typing, { episode, choice: "3" })).rejects.toMatchObject({
		code: "invalid_choice",
		message: 'the dialog has no choice "3"; nothing was typed',
		hint: "its choices are 1 (Yes, proceed (y)), 2 (No, and tell Codex what to do differently (esc))",
	});
	await expect(answerAgent(agent.typing, { episode, text: "yes" })).rejects.toMatchObject({
		code: "invalid_choice",
		message: "the dialog takes no text; nothing was typed",
	});
	await expect(answerAgent(agent.typing, { episode })).rejects.toMatchObject({ code: "invalid_argument" });
	expect((await agent.typing.view.state())?.episode).toBe(episode);
});
