/**
 * A real coding agent in a session of a real server, through all of its states. Each agent's file runs this scenario.
 *
 * Agents start slowly on a busy machine: a wait ends with what it waits for, and its time limit is only for failures.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { AgentMessage } from "../../../src/api/types.ts";
import { HawserError, type Session } from "../../../src/client/index.ts";
import type { AgentSignal, AgentState } from "../../../src/words/agent.ts";
import { TestHawser } from "../../support/hawser-command.ts";
import { eventually } from "../../support/reading.ts";
import { type AgentName, prepareAgent } from "../../support/real-agents.ts";
import { FINAL_TEXT, OPTIONS, QUESTION, ScriptedModel } from "../../support/scripted-model.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

/** The longest time until a state. */
export const STATE_MS = 120_000;
/** The longest time of a scenario. */
export const SCENARIO_MS = 600_000;

type RealAgent = {
	readonly model: ScriptedModel;
	/** Where it works. */
	readonly project: string;
	session(): Session;
	/** The state of the agent, once it is one of these. */
	becomes(...states: AgentState[]): Promise<AgentMessage>;
	/** Its dialog, once it is open and drawn. */
	asks(): Promise<AgentMessage>;
	prompt(text: string): Promise<void>;
	answer(agent: AgentMessage, choice: RegExp): Promise<void>;
	/** Audit entries of what was typed into the session. */
	typed(): Promise<number[]>;
	killServer(): Promise<void>;
};

export async function startRealAgent(name: AgentName): Promise<RealAgent> {
	const model = await ScriptedModel.start();
	onTestFinished(() => model.close());
	const start = await prepareAgent(name, { directory: await temporaryDirectory(), model: model.url });
	const hawser = await TestHawser.create();
	onTestFinished(() => hawser.remove());
	let client = await hawser.client();
	const { id } = await client.sessions.create({ ...start, mode: "pty", cols: 120, rows: 40 });
	const session = () => client.sessions.at(id);
	let renamed = 0;
	/** For messages about failures. */
	const seen = async () => {
		const [{ agent, explanation }, { lines }] = await Promise.all([
			session().inspect({ explain: true }),
			session().screen(),
		]);
		return [JSON.stringify({ agent, explanation }, null, "  "), ...(lines ?? [])].join("\n");
	};
	const becomes = async (...states: AgentState[]): Promise<AgentMessage> => {
		const result = await session().wait({ agent: states }, { timeoutMs: STATE_MS });
		if (result.kind === "agent") return result.agent;
		throw new Error(`${name} is not ${states.join(" or ")}, but ${result.kind}\n${await seen()}`);
	};
	return {
		model,
		project: start.cwd,
		session,
		becomes,
		async asks() {
			await becomes("blocked");
			const drawn = async () => {
				const { agent } = await session().inspect();
				return agent?.state === "blocked" && agent.choices.length > 0 ? agent : undefined;
			};
			return eventually("the dialog", drawn, STATE_MS);
		},
		async prompt(text) {
			try {
				await session().prompt(text);
			} catch (cause) {
				const isRefused = cause instanceof HawserError && cause.code === "blocked";
				throw isRefused ? cause : new Error(`the prompt ${text} failed\n${await seen()}`, { cause });
			}
		},
		async answer({ episode, choices }, label) {
			const choice = choices.find((one) => label.test(one.label));
			if (!choice) throw new Error(`${label} is none of ${JSON.stringify(choices)}`);
			await session().answer({ episode, choice: choice.id });
		},
		async typed() {
			// An entry for the session that is not merged ends all that are merged.
			await session().rename(`${name}-${++renamed}`);
			return (await client.audit({ session: id, action: "input" })).entries.map(({ seq }) => seq);
		},
		async killServer() {
			await hawser.stopServer("SIGKILL");
			await hawser.startServer();
			client = await hawser.client();
		},
	};
}

export type AgentWords = {
	/** The question of a permission for a command. */
	readonly question: RegExp;
	readonly allow: RegExp;
	readonly deny: RegExp;
	/** The signal by which its dialogs are known first. */
	readonly signal: AgentSignal;
};

export async function throughAllStates(name: AgentName, words: AgentWords): Promise<void> {
	const agent = await startRealAgent(name);
	const isThere = (file: string) => existsSync(join(agent.project, file));
	expect(await agent.becomes("idle")).toMatchObject({ app: name, kind: null, question: null, choices: [] });

	await agent.prompt("slow");
	expect(await agent.becomes("working")).toMatchObject({ app: name, kind: null });
	await eventually("the reply of the model", () => agent.model.held > 0, STATE_MS);
	agent.model.release();
	await agent.becomes("done");

	await agent.prompt("shell allowed");
	const asked = await agent.asks();
	expect(asked).toMatchObject({
		kind: "permission",
		question: expect.stringMatching(words.question),
		details: expect.stringContaining("touch allowed"),
		signal: words.signal,
	});
	const typed = await agent.typed();
	const refusal = await agent.prompt("1").catch((error: unknown) => error);
	expect(refusal).toMatchObject({ code: "blocked" });
	expect(typed).not.toEqual([]);
	expect(await agent.typed()).toEqual(typed);
	await expect(agent.session().answer({ episode: asked.episode, choice: "9" })).rejects.toMatchObject({
		code: "invalid_choice",
	});

	await agent.killServer();
	const again = await agent.asks();
	expect(again).toMatchObject({ kind: "permission", question: asked.question, choices: asked.choices });
	expect(isThere("allowed")).toBe(false);
	await agent.answer(again, words.allow);
	await agent.becomes("done");
	expect(isThere("allowed")).toBe(true);
	await expect(agent.answer(again, words.allow)).rejects.toMatchObject({ code: "stale" });

	await agent.prompt("shell denied");
	await agent.answer(await agent.asks(), words.deny);
	await agent.becomes("idle", "done");
	expect(isThere("denied")).toBe(false);

	await agent.prompt("question");
	const question = await agent.asks();
	expect(question).toMatchObject({ kind: "question", question: expect.stringContaining(QUESTION) });
	expect(question.choices.map(({ label }) => label)).toEqual(expect.arrayContaining([...OPTIONS]));
	await agent.answer(question, /^Postgres/);
	await agent.becomes("done");
	await eventually("the answer at the model", () => agent.model.results.at(-1)?.includes("Postgres"));
	await eventually("the reply", async () => (await agent.session().screen()).lines?.join("\n").includes(FINAL_TEXT));

	await agent.killServer();
	await agent.becomes("done", "idle");
	await agent.prompt("error");
	await agent.becomes("error");
	await agent.killServer();
	await agent.becomes("error");
}
