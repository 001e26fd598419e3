/** Coding agents and callers with fewer rights than the operator: viewers, tokens with a gate, and tokens that have ended. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import type { AgentMessage } from "../../../src/api/types.ts";
import { type Client, connect, type Session } from "../../../src/client/index.ts";
import { loadConfig } from "../../../src/server/config.ts";
import { type Server, startServer } from "../../../src/server/server.ts";
import { agentProgram } from "../../support/agents.ts";
import { eventually } from "../../support/reading.ts";
import { pendingApproval } from "../support/held.ts";

const TEST_MS = 120_000;

let server: Server;
let person: Client;
let stateDir: string;

beforeAll(async () => {
	stateDir = await mkdtemp(join(tmpdir(), "hawser-agents-"));
	const config = loadConfig({ port: "0", spares: "0", stateDir }, {});
	server = await startServer(config, {
		report: (problem) => {
			throw problem;
		},
	});
	person = connect({ url: server.url, token: server.adminToken });
});

afterAll(async () => {
	await server.close();
	await rm(stateDir, { recursive: true, force: true });
});

async function startAgent(name: "codex" | "claude", ...flags: string[]): Promise<Session> {
	const argv = [process.execPath, await agentProgram(name), ...flags];
	const { id } = await person.sessions.create({ argv, durable: false, cols: 80, rows: 24 });
	onTestFinished(() => person.sessions.at(id).remove({ force: true }));
	return person.sessions.at(id);
}

function agentIs(session: Session, ...states: AgentMessage["state"][]): Promise<AgentMessage> {
	return eventually(`the agent is ${states.join(" or ")}`, async () => {
		const { agent } = await session.inspect();
		return agent && states.includes(agent.state) && (agent.state !== "blocked" || agent.choices.length > 0)
			? agent
			: undefined;
	});
}

async function screenOf(session: Session): Promise<string> {
	return ((await session.screen()).lines ?? []).join("\n");
}

async function statusOf(token: string | undefined, method: string, path: string, body?: object): Promise<number> {
	const response = await fetch(`${server.url}${path}`, {
		method,
		headers: {
			...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
			...(body ? { "content-type": "application/json" } : {}),
		},
		...(body ? { body: JSON.stringify(body) } : {}),
	});
	await response.arrayBuffer();
	return response.status;
}

it("only callers that may operate the session answer, prompt and cancel, and only readers see prompts", {
	timeout: TEST_MS,
}, async () => {
	const session = await startAgent("codex");
	await agentIs(session, "idle");
	await session.prompt("shell");
	const { episode } = await agentIs(session, "blocked");
	const { queued } = await session.prompt("later", { whenIdle: true });
	const tokenWith = async (...scopes: string[]) => (await person.tokens.create({ scopes })).token;
	const viewer = await tokenWith(`session:${session.id}:view`);
	const other = await tokenWith("workspace:other:manage");
	const path = `/v1/sessions/${session.id}`;
	const before = await screenOf(session);
	const routes = [
		["POST", `${path}/answer`, { episode, choice: "1" }],
		["POST", `${path}/prompt`, { text: "sneak" }],
		["POST", `${path}/prompt`, { text: "sneak", whenIdle: true }],
		["DELETE", `${path}/prompts/${queued?.id}`, undefined],
		["GET", `${path}/prompts`, undefined],
	] as const;
	const statuses = async (token?: string) => {
		const all = [];
		for (const [method, at, body] of routes) all.push(await statusOf(token, method, at, body));
		return all;
	};
	expect(await statuses()).toEqual([401, 401, 401, 401, 401]);
	expect(await statuses("wrong")).toEqual([401, 401, 401, 401, 401]);
	expect(await statuses(other)).toEqual([404, 404, 404, 404, 404]);
	expect(await statuses(viewer)).toEqual([403, 403, 403, 403, 200]);
	expect(await screenOf(session)).toBe(before);
	expect((await session.prompts()).map(({ text }) => text)).toEqual(["later"]);
});

it("an answer that is held for approval keeps nobody else from answering", { timeout: TEST_MS }, async () => {
	const session = await startAgent("claude", "--trust");
	const { episode } = await agentIs(session, "blocked");
	const scopes = [`session:${session.id}:control`];
	const { token } = await person.tokens.create({ scopes, gate: { match: ["never"] } });
	const gated = connect({ url: server.url, token }).sessions.at(session.id);
	const held = gated.answer({ episode, choice: "2" }).catch((error: unknown) => error);
	// Only the agent knows what an arrow key does.
	const approval = await pendingApproval(person, session.id);
	await session.answer({ episode, choice: "1" });
	expect(await screenOf(session)).toContain("• finished No, exit");
	await person.approvals.decide(approval.id, { decision: "grant", evenIfChanged: true }).catch(() => {});
	expect(await held).toMatchObject({ code: expect.stringMatching(/^(?:stale|not_approved)$/) });
	expect((await screenOf(session)).match(/• finished/g)).toHaveLength(1);
});

it("a queued prompt of a token that is revoked before the agent is idle is never typed", {
	timeout: TEST_MS,
}, async () => {
	const session = await startAgent("codex");
	await agentIs(session, "idle");
	await session.prompt("shell");
	const { episode } = await agentIs(session, "blocked");
	const { id, token } = await person.tokens.create({ scopes: [`session:${session.id}:control`] });
	await connect({ url: server.url, token }).sessions.at(session.id).prompt("sneak", { whenIdle: true });
	await session.prompt("later", { whenIdle: true });
	await person.tokens.revoke(id);
	await session.answer({ episode, choice: "1" });
	await eventually("the other prompt", async () => (await screenOf(session)).includes("• finished later"));
	expect(await screenOf(session)).not.toContain("sneak");
	await eventually("an empty queue", async () => (await session.prompts()).length === 0);
});
