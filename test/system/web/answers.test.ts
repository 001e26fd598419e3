/** Answers from the list, given to real programs through a real server. */

import { expect, it } from "vitest";
import { answerInput, type Client, connect, needOf, type SessionInfo } from "../../../src/client/index.ts";
import { Answers } from "../../../web/state/answers.ts";
import { eventually } from "../../support/reading.ts";
import { start } from "../../support/server.ts";

/** A program that asks, as the list shows it then. */
async function ask(client: Client, command: string): Promise<SessionInfo> {
	const { id } = await client.sessions.create({ command, durable: false });
	return eventually("the question", async () => {
		const session = await client.sessions.at(id).info();
		const state = await client.sessions.at(id).inspect();
		if (state.state !== "waiting") return undefined;
		const { lastLine: prompt, offset, episode, since, program } = state;
		const kind = state.kind === "secret" ? "secret" : "line";
		const waiting = { kind, prompt, offset, episode, since, program } as const;
		const overview = {
			lastLine: prompt,
			lastOutputAt: since,
			activeAt: since,
			activity: [],
			usualIntervalMs: null,
			watchers: 0,
			approvals: 0,
			prompts: 0,
			agent: null,
			waiting,
		};
		return { ...session, overview };
	});
}

async function serve() {
	const server = await start();
	const client = connect({ url: server.url, token: server.adminToken });
	const heard: string[] = [];
	return { client, heard, answers: new Answers(client, { onPrompt: (id) => void heard.push(id), onDialog: () => {} }) };
}

const outputOf = async (client: Client, id: string) => (await client.sessions.at(id).text()).text;

it("an answer is typed once, however often it is submitted, and the row shows that the program took it", async () => {
	const { client, answers, heard } = await serve();
	const session = await ask(client, "printf 'Go on? [y/N] '; read a; echo got:$a; read b; echo more:$b");
	await Promise.all([answers.give(session, "y"), answers.give(session, "y")]);
	expect(answers.of(session, undefined)).toMatchObject({ kind: "taken", text: "y" });
	expect(heard).toEqual([session.id]);
	await eventually("the answer", async () => (await outputOf(client, session.id)).includes("got:y"));
	// A second one would answer the next question.
	await answers.give(session, "y");
	expect(answers.of(session, undefined)?.kind).toBe("late");
	expect(await outputOf(client, session.id)).not.toContain("more:");
});

it("the next question replaces the outcome of an answer", async () => {
	const { client, answers } = await serve();
	const session = await ask(client, "printf 'Go on? [y/N] '; read a; printf 'Really? [y/N] '; read b");
	const needOfNow = (one: SessionInfo) => needOf(one, { now: Date.now(), dismissed: new Set(), held: [] });
	await answers.give(session, "y");
	expect(answers.of(session, needOfNow(session))?.kind).toBe("taken");
	const { overview } = session;
	if (!overview?.waiting) throw new Error("the session asks nothing");
	const waiting = { ...overview.waiting, prompt: "Really? [y/N] ", offset: overview.waiting.offset + 16 };
	const next = { ...session, overview: { ...overview, waiting } };
	expect(answers.of(next, needOfNow(next))).toBeUndefined();
	// A program that waits for any input asks nothing.
	expect(answers.of(next, undefined)?.kind).toBe("taken");
});

it("the outcome of a secret does not show the secret", async () => {
	const { client, answers } = await serve();
	const session = await ask(
		client,
		"printf 'Password: '; stty -echo; read a; stty echo; echo; printf %s \"$a\" | wc -c; read b",
	);
	await answers.give(session, "hunter2");
	expect(answers.of(session, undefined)).toMatchObject({ kind: "taken", text: undefined });
	await eventually("the answer", async () => (await outputOf(client, session.id)).includes("\n7"));
});

it("an answer to a session that has gone reports that, and no success", async () => {
	const { client, answers } = await serve();
	const session = await ask(client, "printf 'Go on? '; read a");
	await client.sessions.at(session.id).remove();
	await answers.give(session, "y");
	expect(answers.of(session, undefined)?.kind).toBe("failed");
});

it("an answer ends with the line ending of its terminal or pipe, and a key is sent as a key press", () => {
	expect(answerInput("y", "pty", "line")).toBe("y\r");
	expect(answerInput("y", "pipe", "line")).toBe("y\n");
	expect(answerInput("y", "pty", "key")).toBe("y");
});
