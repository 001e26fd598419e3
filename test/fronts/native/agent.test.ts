/** The state of agents over HTTP and in the feed. */

import { describe, expect, onTestFinished, test } from "vitest";
import type { AgentMessage, FeedEvent } from "../../../src/api/types.ts";
import { type Client, connect, type Session } from "../../../src/client/index.ts";
import { startTestServer, TOKEN } from "../../support/native-server.ts";
import { eventually } from "../../support/reading.ts";

/** Reports the body of each line that it reads. */
const REPORTER = `stty -echo; while IFS= read -r body; do printf '\\033]7501;%s\\007' "$body"; done`;

async function serve(): Promise<Client> {
	const server = await startTestServer({ changeMs: 20 });
	onTestFinished(async () => {
		await server.close();
		expect(server.problems).toEqual([]);
	});
	return connect({ url: server.url, token: TOKEN });
}

async function startReporter(client: Client): Promise<Session> {
	const { id } = await client.sessions.create({ command: REPORTER, durable: false, cols: 80, rows: 24 });
	return client.sessions.at(id);
}

async function becomes(session: Session, what: string, isIt: (agent: AgentMessage) => boolean): Promise<AgentMessage> {
	return eventually(what, async () => {
		const { agent } = await session.inspect();
		return agent && isIt(agent) ? agent : undefined;
	});
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

describe("the agent of a session", () => {
	test("a state without an agent has null, and so has an overview", async () => {
		const client = await serve();
		const session = await startReporter(client);
		expect((await session.inspect()).agent).toBeNull();
		expect((await session.info({ overview: true })).overview?.agent).toBeNull();
	});

	test("a report is in the state, in overviews and in the feed", async () => {
		const client = await serve();
		const session = await startReporter(client);
		const events: FeedEvent[] = [];
		const over = new AbortController();
		onTestFinished(() => over.abort());
		let hasBegun = false;
		void (async () => {
			for await (const item of client.events({ type: ["agent"], signal: over.signal })) {
				if (item.kind === "begin") hasBegun = true;
				if (item.kind === "event") events.push(item.event);
			}
		})();
		await eventually("the feed", () => hasBegun);
		await session.write("state=working:app=codex:progress=10\n");
		await becomes(session, "work", ({ state }) => state === "working");
		await session.write(`state=blocked:kind=permission:app=codex:msg=${base64("Run ls?")}\n`);
		const agent = await becomes(session, "the question", ({ state }) => state === "blocked");
		expect(agent).toMatchObject({
			app: "codex",
			kind: "permission",
			question: "Run ls?",
			choices: [],
			children: [],
			signal: "osc7501",
			confidence: "sure",
		});
		expect((await session.info({ overview: true })).overview?.agent).toMatchObject({ episode: agent.episode });
		await eventually("the events", () => events.length >= 2);
		expect(events.map(({ type, agent: told }) => [type, told?.state])).toEqual([
			["agent", "working"],
			["agent", "blocked"],
		]);
		expect(events[1]?.agent?.episode).toBe(agent.episode);
		// Progress makes no event.
		await session.write("state=working:app=codex:progress=20\nstate=working:app=codex:progress=30\n");
		await becomes(session, "progress", ({ progress }) => progress === 30);
		await session.kill();
		await eventually("the last event", () => events.length >= 3);
		expect(events.slice(2).map(({ agent: told }) => told?.state)).toEqual(["working"]);
		expect((await session.inspect()).agent).toBeNull();
	});

	test("a session works while its subagents do, and is blocked by the question of one", async () => {
		const client = await serve();
		const session = await startReporter(client);
		const states: (string | undefined)[] = [];
		const over = new AbortController();
		onTestFinished(() => over.abort());
		let hasBegun = false;
		void (async () => {
			for await (const item of client.events({ type: ["agent"], signal: over.signal })) {
				if (item.kind === "begin") hasBegun = true;
				if (item.kind === "event" && item.event.agent?.state !== states.at(-1)) states.push(item.event.agent?.state);
			}
		})();
		await eventually("the feed", () => hasBegun);
		const title = (text: string) => `title=${base64(text)}`;
		const started = ["a", "b", "c"].map((id) => `state=working:id=task/${id}:${title(`Task ${id}`)}:progress=10`);
		await session.write(`state=working:app=claude-code\n${started.join("\n")}\nstate=done:app=claude-code\n`);
		const working = await becomes(session, "the tasks", ({ children }) => children.length === 3);
		expect(working).toMatchObject({ app: "claude-code", state: "working" });
		expect(working.children[0]).toMatchObject({ id: "task/a", app: "claude-code", title: "Task a", progress: 10 });
		await session.write(`state=blocked:kind=permission:id=task/b:msg=${base64("approve Bash: ls")}\n`);
		const blocked = await becomes(session, "the question of one", ({ state }) => state === "blocked");
		expect(blocked).toMatchObject({ kind: "permission", question: "approve Bash: ls", signal: "osc7501" });
		// Its answer, and the end of all but one.
		await session.write("state=working:id=task/b\nstate=clear:id=task/a\nstate=clear:id=task/b\n");
		const last = await becomes(session, "the last one", ({ children }) => children.length === 1);
		expect(last).toMatchObject({ state: "working", children: [{ id: "task/c", state: "working" }] });
		await session.write("state=clear:id=task\n");
		await becomes(session, "the end", ({ state }) => state === "done");
		await eventually("the last event", () => states.at(-1) === "done");
		expect(states.filter((state) => state === "idle")).toEqual([]);
		expect(states).toEqual(["working", "blocked", "working", "done"]);
	});

	test("a finished turn is done until a client has been attached to it, and idle afterwards", async () => {
		const client = await serve();
		const session = await startReporter(client);
		await session.write("state=done:app=codex\n");
		const done = await becomes(session, "the end", ({ state }) => state === "done");
		const attachment = session.attach({ role: "viewer" });
		onTestFinished(() => attachment.detach());
		void (async () => {
			for await (const _ of attachment);
		})();
		const idle = await becomes(session, "that it was seen", ({ state }) => state === "idle");
		expect(idle.episode).toBe(done.episode);
	});
});
