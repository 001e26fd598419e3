import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { ProgramState } from "../../../src/api/types.ts";
import { connect, type FeedItem } from "../../../src/client/index.ts";
import { SessionError } from "../../../src/core/errors.ts";
import { guessed } from "../../../src/services/attention/program-state.ts";
import { principalWith, startTestServer, type TestServer, TOKEN } from "../../support/native-server.ts";
import { eventually } from "../../support/reading.ts";

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
	test("the state names the waiting process, what it waits for, its directory and its question", async () => {
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
			agent: null,
		});
	});

	test("the state reports the end of a session", async () => {
		const { id } = await server.create({ command: "echo done" });
		expect(await becomes(id, "ended")).toMatchObject({ pid: null, lastLine: "done", confidence: "sure" });
	});

	test("the state is sent only to callers who may read the session", async () => {
		const { id } = await server.create({ command: "read x" });
		const headers = { authorization: "Bearer blind" };
		expect((await server.request(`/v1/sessions/${id}/state`, { headers })).status).toBe(404);
		expect((await server.request("/v1/sessions/none/state")).status).toBe(404);
	});
});

test("only a state that can't be inspected is guessed from the last line, after a while", () => {
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

describe("waiting and ready in the feed", () => {
	test("the feed reports each start of a wait once, and when a shell is ready", async () => {
		const client = connect({ url: server.url, token: TOKEN });
		const controller = new AbortController();
		// The first subscriber gets what already waits. Consume that event here, so later tests do not get it.
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
		// Input typed into an answer is no new wait.
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

	test("the feed reports what already waits to its first subscriber", async () => {
		const { id } = await server.create({ argv: ["bash", "-c", "read -s x"] });
		await becomes(id, "waiting");
		const client = connect({ url: server.url, token: TOKEN });
		for await (const item of client.events({ signal: AbortSignal.timeout(10_000) })) {
			if (item.kind !== "event" || item.event.session.id !== id) continue;
			expect(item.event).toMatchObject({ type: "waiting", kind: "secret" });
			return;
		}
		throw new Error("the wait was not reported");
	});
});

test("the feed continues with a session that could not be inspected for a while", async () => {
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
	throw new Error("the wait was not reported");
});
