/** Answers from a list, given to real programs through a real server. */

import { expect, it } from "vitest";
import { type Client, connect, type Listed, needOf, typed } from "../../src/client/index.ts";
import { Answers } from "../../web/state/answers.ts";
import { eventually } from "../helpers/reading.ts";
import { start } from "../server/start.ts";

/** A program that asks, as the list has it then. */
async function ask(client: Client, command: string): Promise<Listed> {
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
			activity: [],
			usualIntervalMs: null,
			watchers: 0,
			approvals: 0,
			waiting,
		};
		return { ...session, overview };
	});
}

async function serve() {
	const server = await start();
	const client = connect({ url: server.url, token: server.adminToken });
	const heard: string[] = [];
	return { client, heard, answers: new Answers(client, (id) => void heard.push(id)) };
}

const outputOf = async (client: Client, id: string) => (await client.sessions.at(id).text()).text;

it("an answer is typed once, however often it is given, and the row says that the program took it", async () => {
	const { client, answers, heard } = await serve();
	const session = await ask(client, "printf 'Go on? [y/N] '; read a; echo got:$a; read b; echo more:$b");
	await Promise.all([answers.give(session, "y"), answers.give(session, "y")]);
	expect(answers.of(session, undefined)).toMatchObject({ kind: "taken", text: "y" });
	expect(heard).toEqual([session.id]);
	await eventually("the answer", async () => (await outputOf(client, session.id)).includes("got:y"));
	// A second one would be read by what is asked next.
	await answers.give(session, "y");
	expect(answers.of(session, undefined)?.kind).toBe("late");
	expect(await outputOf(client, session.id)).not.toContain("more:");
});

it("what is asked next takes the place of what became of the answer", async () => {
	const { client, answers } = await serve();
	const session = await ask(client, "printf 'Go on? [y/N] '; read a; printf 'Really? [y/N] '; read b");
	const needOfNow = (one: Listed) => needOf(one, { now: Date.now(), dismissed: new Set(), held: [] });
	await answers.give(session, "y");
	expect(answers.of(session, needOfNow(session))?.kind).toBe("taken");
	const { overview } = session;
	if (!overview?.waiting) throw new Error("it asks nothing");
	const waiting = { ...overview.waiting, prompt: "Really? [y/N] ", offset: overview.waiting.offset + 16 };
	const next = { ...session, overview: { ...overview, waiting } };
	expect(answers.of(next, needOfNow(next))).toBeUndefined();
	// One that waits for whatever comes asks nothing.
	expect(answers.of(next, undefined)?.kind).toBe("taken");
});

it("a secret is not shown by what became of it", async () => {
	const { client, answers } = await serve();
	const session = await ask(
		client,
		"printf 'Password: '; stty -echo; read a; stty echo; echo; printf %s \"$a\" | wc -c; read b",
	);
	await answers.give(session, "hunter2");
	expect(answers.of(session, undefined)).toMatchObject({ kind: "taken", text: undefined });
	await eventually("the answer", async () => (await outputOf(client, session.id)).includes("\n7"));
});

it("a session that has gone away is told, and nothing is pretended", async () => {
	const { client, answers } = await serve();
	const session = await ask(client, "printf 'Go on? '; read a");
	await client.sessions.at(session.id).remove();
	await answers.give(session, "y");
	expect(answers.of(session, undefined)?.kind).toBe("failed");
});

it("a line is ended as its terminal or its pipe has it, and a key is only pressed", () => {
	expect(typed("y", "pty", "line")).toBe("y\r");
	expect(typed("y", "pipe", "line")).toBe("y\n");
	expect(typed("y", "pty", "key")).toBe("y");
});
