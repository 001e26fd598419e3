/** The agents of sessions in keepers. */

import { expect, onTestFinished, test } from "vitest";
import type { AgentMessage } from "../../../src/api/types.ts";
import type { Session } from "../../../src/core/session/session.ts";
import { Agents } from "../../../src/services/agents/agents.ts";
import { Attachments } from "../../../src/services/attachments/attachments.ts";
import { KeeperSite, only } from "../../support/keeper-site.ts";
import { eventually, write } from "../../support/reading.ts";
import { shell, startOf } from "../../support/starts.ts";

/** Reports the body of each line that it reads. */
const REPORTER = `stty -echo; while IFS= read -r body; do printf '\\033]7501;%s\\007' "$body"; done`;

function agentsOf(session: Session): Agents {
	const agents = new Agents({
		sessions: { get: () => session },
		attachments: new Attachments(),
		now: Date.now,
		report: (problem) => {
			throw problem;
		},
	});
	onTestFinished(() => agents.close());
	return agents;
}

function becomes(agents: Agents, session: Session, isIt: (agent: AgentMessage) => boolean): Promise<AgentMessage> {
	return eventually("the agent", async () => {
		const agent = await agents.read(session);
		return agent && isIt(agent) ? agent : undefined;
	});
}

test("records and the episode of a question survive the server", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const first = await keepers.start(shell(REPORTER));
	await write(first, "state=blocked:kind=question:app=pi:msg=V2hpY2g/\nstate=working:id=sub\n");
	const before = await becomes(agentsOf(first), first, ({ children }) => children.length === 1);
	expect(before).toMatchObject({ state: "blocked", question: "Which?" });
	await keepers.close();
	const session = only((await site.open()).adopted);
	expect(await agentsOf(session).read(session)).toEqual(before);
	await session.kill();
});

test("an agent that is killed below its shell is none, without a report of its end", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const session = await keepers.start(startOf(["bash", "--norc", "--noprofile", "-i"]));
	const agents = agentsOf(session);
	await write(session, "sh -c 'printf \"\\033]7501;state=working:app=codex\\007\"; exec sleep 1000'\n");
	await becomes(agents, session, ({ state }) => state === "working");
	await write(session, "\u0003");
	await eventually("no agent", async () => (await agents.read(session)) === null);
	await session.kill({ signal: "SIGKILL" });
});

test("an agent that is stopped is none until it goes on", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const session = await keepers.start(startOf(["bash", "--norc", "--noprofile", "-i"]));
	const agents = agentsOf(session);
	await write(session, "sh -c 'printf \"\\033]7501;state=blocked:app=codex\\007\"; exec sleep 1000'\n");
	const { episode } = await becomes(agents, session, ({ state }) => state === "blocked");
	await write(session, "\u001a");
	await eventually("no agent", async () => (await agents.read(session)) === null);
	await write(session, "fg\n");
	expect(await becomes(agents, session, ({ state }) => state === "blocked")).toMatchObject({ episode });
	await session.kill({ signal: "SIGKILL" });
});
