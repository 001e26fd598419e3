/** Answers, prompts and queued prompts over HTTP. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { AgentMessage, ProgramState, QueuedPrompt } from "../../../src/api/types.ts";
import { agentProgram } from "../../support/agents.ts";
import { startTestServer, type TestServer } from "../../support/native-server.ts";
import { eventually } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

type Answer = { readonly status: number; readonly body: unknown };

async function post(server: TestServer, path: string, body: unknown, method = "POST"): Promise<Answer> {
	const response = await server.request(path, {
		method,
		...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
	});
	return { status: response.status, body: response.status === 204 ? null : await response.json() };
}

async function startAgent(name: "codex" | "claude"): Promise<{ server: TestServer; path: string }> {
	const server = await startTestServer();
	const { id } = await server.create({ argv: [await agentProgram(name)], cols: 80, rows: 24 });
	const path = `/v1/sessions/${id}`;
	await eventually("the agent rests", async () => (await agentOf(server, path))?.state === "idle");
	return { server, path };
}

async function agentOf(server: TestServer, path: string): Promise<AgentMessage | null | undefined> {
	return ((await (await server.request(`${path}/state`)).json()) as ProgramState).agent;
}

async function screenOf(server: TestServer, path: string): Promise<string> {
	return (await (await server.request(`${path}/screen`)).text()).replaceAll("\\n", "\n");
}

async function promptsOf(server: TestServer, path: string): Promise<QueuedPrompt[]> {
	return ((await (await server.request(`${path}/prompts`)).json()) as { prompts: QueuedPrompt[] }).prompts;
}

it("a prompt opens a dialog, which the state shows with its choices, and an answer closes it", async () => {
	const { server, path } = await startAgent("codex");
	expect(await post(server, `${path}/prompt`, { text: "shell" })).toEqual({
		status: 200,
		body: { submitted: true, queued: null },
	});
	await eventually("the dialog", async () => (await agentOf(server, path))?.state === "blocked");
	const agent = await agentOf(server, path);
	expect(agent).toMatchObject({
		app: "codex",
		kind: "permission",
		question: "Would you like to run the following command?",
		details: "$ touch file",
		choices: [
			{ id: "1", label: "Yes, proceed (y)" },
			{ id: "2", label: "No, and tell Codex what to do differently (esc)" },
		],
		signal: "screen",
	});
	const blocked = await post(server, `${path}/prompt`, { text: "1" });
	expect(blocked).toMatchObject({
		status: 409,
		body: { error: { code: "blocked", agent: { episode: agent?.episode } } },
	});
	const episode = agent?.episode;
	expect(await post(server, `${path}/answer`, { episode, choice: "7" })).toMatchObject({
		status: 422,
		body: { error: { code: "invalid_choice" } },
	});
	expect(await post(server, `${path}/answer`, { episode, choice: "1" })).toEqual({
		status: 200,
		body: { accepted: true },
	});
	expect((await agentOf(server, path))?.state).not.toBe("blocked");
	expect(await screenOf(server, path)).toContain("finished Yes, proceed (y)");
	expect(await post(server, `${path}/answer`, { episode, choice: "1" })).toMatchObject({
		status: 409,
		body: { error: { code: "stale" } },
	});
});

it("prompts of one session are typed one after the other", async () => {
	const { server, path } = await startAgent("codex");
	const answers = await Promise.all(
		["first words", "second words"].map((text) => post(server, `${path}/prompt`, { text })),
	);
	expect(answers.map(({ status }) => status)).toEqual([200, 200]);
	const screen = await screenOf(server, path);
	expect(screen).toContain("finished first words");
	expect(screen).toContain("finished second words");
});

it("a queued prompt is listed, can be cancelled, and is submitted when the agent rests", async () => {
	const { server, path } = await startAgent("claude");
	await post(server, `${path}/prompt`, { text: "slow" });
	await eventually("work", async () => (await agentOf(server, path))?.state === "working");
	const kept = await post(server, `${path}/prompt`, { text: "kept words", whenIdle: true });
	const cancelled = await post(server, `${path}/prompt`, { text: "cancelled words", whenIdle: true });
	expect(kept).toMatchObject({ status: 200, body: { submitted: false, queued: { text: "kept words" } } });
	const queued = await promptsOf(server, path);
	expect(queued.map(({ text }) => text)).toEqual(["kept words", "cancelled words"]);
	const { id } = (cancelled.body as { queued: QueuedPrompt }).queued;
	expect((await post(server, `${path}/prompts/${id}`, undefined, "DELETE")).status).toBe(204);
	expect((await post(server, `${path}/prompts/${id}`, undefined, "DELETE")).status).toBe(404);
	await eventually("the turn", async () => (await screenOf(server, path)).includes("finished kept words"));
	await eventually("an empty queue", async () => (await promptsOf(server, path)).length === 0);
	expect(await screenOf(server, path)).not.toContain("cancelled words");
});

it("a prompt that is queued right after the last one was cancelled is submitted", async () => {
	const { server, path } = await startAgent("codex");
	await post(server, `${path}/prompt`, { text: "slow" });
	const first = await post(server, `${path}/prompt`, { text: "cancelled words", whenIdle: true });
	const { id } = (first.body as { queued: QueuedPrompt }).queued;
	const [cancelled, next] = await Promise.all([
		post(server, `${path}/prompts/${id}`, undefined, "DELETE"),
		post(server, `${path}/prompt`, { text: "kept words", whenIdle: true }),
	]);
	expect([cancelled.status, next.status]).toEqual([204, 200]);
	await eventually("the turn", async () => (await screenOf(server, path)).includes("finished kept words"));
	expect(await screenOf(server, path)).not.toContain("cancelled words");
});

it("a prompt with control characters, and one that is too long, is refused and not queued", async () => {
	const { server, path } = await startAgent("codex");
	for (const text of ["tidy\u0003", "\u001b[20\u001b[201~1~tidy", "tidy up ".repeat(20_000)]) {
		for (const whenIdle of [false, true]) {
			expect(await post(server, `${path}/prompt`, { text, whenIdle })).toMatchObject({
				status: 400,
				body: { error: { code: "invalid_argument" } },
			});
		}
	}
	await post(server, `${path}/prompt`, { text: "shell" });
	for (const text of ["tidy\u0003", "tidy up ".repeat(20_000)]) {
		expect(await post(server, `${path}/prompt`, { text, whenIdle: true })).toMatchObject({ status: 400 });
	}
	expect(await promptsOf(server, path)).toEqual([]);
	const long = "x".repeat(120_000);
	const answers = [];
	for (let count = 0; count < 9; count++)
		answers.push(await post(server, `${path}/prompt`, { text: long, whenIdle: true }));
	expect(answers.at(-1)).toMatchObject({ body: { error: { code: "limit_exceeded" } } });
	expect(await screenOf(server, path)).not.toContain("tidy");
});

it("a prompt for an agent that starts is queued, and submitted when it is idle", async () => {
	const server = await startTestServer();
	const launcher = join(await temporaryDirectory(), "codex");
	const program = await agentProgram("codex");
	await writeFile(launcher, `#!/bin/sh\nprintf starting\nread -r go\nexec '${program}'\n`, { mode: 0o755 });
	const { id } = await server.create({ argv: [launcher], cols: 80, rows: 24 });
	const path = `/v1/sessions/${id}`;
	await eventually("the start", async () => (await screenOf(server, path)).includes("starting"));
	const refused = await post(server, `${path}/prompt`, { text: "refused words" });
	expect(refused).toMatchObject({
		status: 409,
		body: { error: { message: "the state of the agent is not known; nothing was typed" } },
	});
	const queued = await post(server, `${path}/prompt`, { text: "early words", whenIdle: true });
	expect(queued).toMatchObject({ status: 200, body: { submitted: false, queued: { text: "early words" } } });
	expect(await screenOf(server, path)).not.toContain("words");
	expect((await post(server, `${path}/keys`, { keys: ["Enter"] })).status).toBe(200);
	await eventually("the turn", async () => (await screenOf(server, path)).includes("finished early words"));
	expect(await screenOf(server, path)).not.toContain("refused");
});

it("a session without an agent takes no prompt and no answer", async () => {
	const server = await startTestServer();
	const { id } = await server.create({ argv: ["cat"], cols: 80, rows: 24 });
	expect(await post(server, `/v1/sessions/${id}/prompt`, { text: "hello", whenIdle: true })).toMatchObject({
		status: 409,
		body: {
			error: { code: "conflict", message: "no coding agent runs in front of this session; nothing was typed" },
		},
	});
	expect(await post(server, `/v1/sessions/${id}/answer`, { episode: 1, choice: "1" })).toMatchObject({ status: 409 });
	expect(await screenOf(server, `/v1/sessions/${id}`)).not.toContain("hello");
});
