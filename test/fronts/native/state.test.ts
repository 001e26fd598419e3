import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { connect, type FeedItem } from "../../../src/client/index.ts";
import { SessionError } from "../../../src/core/errors.ts";
import { guessed } from "../../../src/fronts/program-state.ts";
import type { ProgramState } from "../../../src/protocol/feed.ts";
import { eventually } from "../../helpers/reading.ts";
import { principalWith, startTestServer, type TestServer, TOKEN } from "./test-server.ts";

let server: TestServer;
beforeAll(async () => {
	server = await startTestServer({ principals: { blind: principalWith(["manage"]) } });
});
afterAll(async () => {
	await server.close();
	expect(server.problems).toEqual([]);
});

const stateOf = async (id: string): Promise<ProgramState> =>
	(await server.request(`/v1/sessions/${id}/state`)).json() as Promise<ProgramState>;

const becomes = (id: string, state: string): Promise<ProgramState> =>
	eventually(state, async () => {
		const told = await stateOf(id);
		return told.state === state ? told : undefined;
	});

describe("the state of a session", () => {
	test("says who waits for what, where, and what was asked", async () => {
		const { id, pid } = await server.create({
			argv: ["bash", "-c", "printf 'working\\n\\033[1mDo you want to continue?\\033[0m [Y/n] '; read answer"],
			cwd: "/usr",
		});
		const state = await becomes(id, "waiting");
		expect(state).toEqual({
			...{ state: "waiting", kind: "line", confidence: "sure", program: "bash", pid, cwd: "/usr" },
			processes: 1,
			lastLine: "Do you want to continue? [Y/n]",
			offset: 48,
			episode: 1,
			since: expect.any(Number),
		});
	});

	test("says that it has ended", async () => {
		const { id } = await server.create({ command: "echo done" });
		expect(await becomes(id, "ended")).toMatchObject({ pid: null, lastLine: "done", confidence: "sure" });
	});

	test("is told to who may read the session only", async () => {
		const { id } = await server.create({ command: "read x" });
		const headers = { authorization: "Bearer blind" };
		expect((await server.request(`/v1/sessions/${id}/state`, { headers })).status).toBe(404);
		expect((await server.request("/v1/sessions/none/state")).status).toBe(404);
	});
});

test("only what can't be looked at is guessed from its last line, and only after a while", () => {
	const hidden = { state: "unknown", kind: "relay", confidence: "sure", quietMs: 1_000 } as const;
	const prompts = [
		"user@host:~$",
		"Password:",
		"Proceed? [y/N] ",
		"(END)",
		"--More--",
		"Are you sure (yes/no)?",
		">>> ",
	];
	for (const line of prompts) expect(guessed(hidden, line)).toMatchObject({ state: "waiting", confidence: "guess" });
	for (const line of ["", "compiling 3 of 9", "done."]) expect(guessed(hidden, line).state).toBe("unknown");
	expect(guessed({ ...hidden, quietMs: 999 }, "Password:").state).toBe("unknown");
	expect(guessed({ ...hidden, kind: "slow" }, "Password:").state).toBe("unknown");
	expect(guessed({ ...hidden, state: "sleeping" }, "Password:").state).toBe("sleeping");
});

describe("the feed", () => {
	test("tells once of each time a program begins to wait, and when a shell is ready", async () => {
		const client = connect({ url: server.url, token: TOKEN });
		const controller = new AbortController();
		// Whoever comes first is told what waits already: that must not be this one for the tests after it.
		onTestFinished(() => controller.abort());
		const items: FeedItem[] = [];
		const following = (async () => {
			for await (const item of client.events({ signal: controller.signal })) items.push(item);
		})();
		await eventually("the feed", () => items.some(({ kind }) => kind === "begin"));
		const { id } = await server.create({ argv: ["bash", "--norc"], env: { PS1: "here> " } });
		const told = (): string[] =>
			items.flatMap((item) => {
				if (item.kind !== "event" || item.event.session.id !== id || item.event.type === "created") return [];
				const { type, kind, prompt, program, offset } = item.event;
				return [`${type} ${kind} ${prompt} ${program} ${typeof offset}`];
			});
		const type = (text: string) => client.sessions.at(id).write(text);
		await eventually("the prompt", () => told().length === 1);
		await type("read -p 'name? ' x\r");
		await eventually("the question", () => told().length === 2);
		// What is typed into an answer is no other wait.
		await type("m");
		await eventually("the echo", async () => (await stateOf(id)).lastLine === "name? m");
		await type("e\r");
		await eventually("the next prompt", () => told().length === 3);
		expect(told()).toEqual([
			"ready undefined here> bash number",
			"waiting line name? bash number",
			"ready undefined here> bash number",
		]);
		controller.abort();
		await following;
	});

	test("tells the first who comes of what waits already", async () => {
		const { id } = await server.create({ argv: ["bash", "-c", "read -s x"] });
		await becomes(id, "waiting");
		const client = connect({ url: server.url, token: TOKEN });
		for await (const item of client.events({ signal: AbortSignal.timeout(10_000) })) {
			if (item.kind !== "event" || item.event.session.id !== id) continue;
			expect(item.event).toMatchObject({ type: "waiting", kind: "secret" });
			return;
		}
		throw new Error("it was not told");
	});
});

test("the feed goes on with a session that could not be asked for a while", async () => {
	const { id } = await server.create({ argv: ["bash", "-c", "read x"] });
	const session = server.sessions.get(id);
	if (!session) throw new Error("no session");
	const ask = session.untilWaiting.bind(session);
	let asked = 0;
	session.untilWaiting = async (after, signal) => {
		if (++asked === 1) throw new SessionError("node_unavailable", "its keeper is away");
		return ask(after, signal);
	};
	const client = connect({ url: server.url, token: TOKEN });
	for await (const item of client.events({ signal: AbortSignal.timeout(10_000) })) {
		if (item.kind !== "event" || item.event.session.id !== id) continue;
		expect(item.event).toMatchObject({ type: "waiting", kind: "line" });
		return;
	}
	throw new Error("it was not told");
});
