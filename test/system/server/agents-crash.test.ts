/** Coding agents and a server that is killed: open dialogs, held dialogs and queued prompts. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { AgentMessage } from "../../../src/api/types.ts";
import { type Client, connect, type Session } from "../../../src/client/index.ts";
import { agentProgram } from "../../support/agents.ts";
import { type Crash, CrashingServer } from "../../support/crashing-server.ts";
import { eventually } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";
import { pendingApproval } from "../support/held.ts";

type Site = {
	readonly client: Client;
	readonly session: Session;
	readonly crashing: CrashingServer;
	/** The server is killed and started again. */
	restart(): Promise<void>;
	/** Kills the server, and starts one that kills itself at this point. */
	restartTo(crash: Crash): Promise<void>;
	screen(): Promise<string>;
};

async function runningAgent(policies?: readonly object[]): Promise<Site> {
	const directory = await temporaryDirectory();
	const agentPolicy = policies ? join(directory, "policy.json") : null;
	if (agentPolicy) await writeFile(agentPolicy, JSON.stringify({ policies }), { mode: 0o600 });
	const crashing = new CrashingServer(await temporaryDirectory(), { agentPolicy });
	await crashing.start();
	onTestFinished(() => crashing.killAll());
	const client = connect({ url: crashing.url, token: await crashing.token() });
	const { id } = await client.sessions.create({
		argv: [process.execPath, await agentProgram("codex")],
		cols: 80,
		rows: 24,
	});
	const session = client.sessions.at(id);
	await agentIs(session, ({ state }) => state === "idle");
	const restartTo = async (crash?: Crash) => {
		await crashing.kill();
		await crashing.start(crash);
	};
	return {
		client,
		session,
		crashing,
		restart: () => restartTo(),
		restartTo,
		screen: async () => ((await session.screen())?.lines ?? []).join("\n"),
	};
}

function agentIs(session: Session, isIt: (agent: AgentMessage) => boolean): Promise<AgentMessage> {
	return eventually("the agent", async () => {
		const { agent } = await session.inspect().catch(() => ({ agent: null }));
		return agent && isIt(agent) ? agent : undefined;
	});
}

const isBlocked = ({ state, choices }: AgentMessage) => state === "blocked" && choices.length > 0;

test("an open dialog is there after the server was killed, and is answered once", async () => {
	const { session, restart, screen } = await runningAgent();
	await session.prompt("shell touch one");
	const before = await agentIs(session, isBlocked);
	await restart();
	const after = await agentIs(session, isBlocked);
	expect({ ...after, episode: 0, offset: 0, since: 0 }).toEqual({ ...before, episode: 0, offset: 0, since: 0 });
	// A screen alone does not tell that the dialog has been there all the time.
	if (after.episode !== before.episode) {
		await expect(session.answer({ episode: before.episode, choice: "1" })).rejects.toMatchObject({ code: "stale" });
	}
	expect(await screen()).toContain("$ touch one");
	await session.answer({ episode: after.episode, choice: "1" });
	expect(await screen()).toContain("• finished Yes, proceed (y)");
	await expect(session.answer({ episode: after.episode, choice: "1" })).rejects.toMatchObject({ code: "stale" });
	expect((await screen()).match(/• finished/g)).toHaveLength(1);
});

test("a held dialog is held again after the server was killed, and a grant answers it once", async () => {
	const { client, session, restart, screen } = await runningAgent([{ deny: ["rm -rf"] }]);
	await session.prompt("shell touch one");
	const before = await pendingApproval(client);
	await restart();
	const held = await pendingApproval(client);
	expect(held).toMatchObject({ kind: "permission", session: { id: session.id }, preview: before.preview });
	await expect(client.approvals.decide(before.id, { decision: "grant" })).rejects.toMatchObject({ code: "not_found" });
	expect(await client.approvals.decide(held.id, { decision: "grant" })).toMatchObject({ state: "granted" });
	expect((await screen()).match(/• finished/g)).toEqual(["• finished"]);
	expect(await client.approvals.list()).toEqual([]);
	await session.prompt("shell rm -rf build");
	await eventually("the denial", async () => (await screen()).includes("• finished No, and tell Codex"));
});

test("a queued prompt is typed once after the server was killed", async () => {
	const { session, restart, screen, crashing } = await runningAgent();
	await session.prompt("shell touch one");
	const { queued } = await session.prompt("later", { whenIdle: true });
	expect(queued).toMatchObject({ text: "later" });
	await restart();
	expect((await session.prompts()).map(({ text }) => text)).toEqual(["later"]);
	const { episode } = await agentIs(session, isBlocked);
	expect(await screen()).not.toContain("later");
	await session.answer({ episode, choice: "1" });
	await eventually("the prompt", async () => (await screen()).includes("• finished later"));
	await eventually("an empty queue", async () => (await session.prompts()).length === 0);
	// Neither this server nor the next one types it again.
	await crashing.kill();
	await crashing.start();
	await session.prompt("end");
	await eventually("the last prompt", async () => (await screen()).includes("• finished end"));
	expect((await screen()).match(/• finished later/g)).toHaveLength(1);
});

// The first input is the answer, the second one the prompt, and the third one Enter.
test.each([
	{ crashAt: "input.received", crashAfter: 2 },
	{ crashAt: "input.accepted", crashAfter: 2 },
	{ crashAt: "input.received", crashAfter: 3 },
	{ crashAt: "input.accepted", crashAfter: 3 },
])("a queued prompt is typed once if the server is killed at $crashAt $crashAfter", async (crash) => {
	const { session, restart, restartTo, screen, crashing } = await runningAgent();
	await session.prompt("shell touch one");
	await session.prompt("later", { whenIdle: true });
	await restartTo(crash);
	const { episode } = await agentIs(session, isBlocked);
	await session.answer({ episode, choice: "1" });
	await crashing.ended();
	await restart();
	await eventually("an empty queue", async () => (await session.prompts()).length === 0);
	await session.prompt("end");
	await eventually("the last prompt", async () => (await screen()).includes("• finished end"));
	expect((await screen()).match(/^• finished .*$/gm)).toEqual([
		"• finished Yes, proceed (y)",
		"• finished later",
		"• finished end",
	]);
});
