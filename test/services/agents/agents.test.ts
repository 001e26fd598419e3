/** The agents of sessions in keepers. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { AgentMessage } from "../../../src/api/types.ts";
import type { ScreenReader } from "../../../src/core/session/screen-reader.ts";
import type { Session } from "../../../src/core/session/session.ts";
import type { HookReport } from "../../../src/core/terminal/program-status.ts";
import { Agents } from "../../../src/services/agents/agents.ts";
import { promptAgent } from "../../../src/services/agents/prompt.ts";
import { Attachments } from "../../../src/services/attachments/attachments.ts";
import { runningAgent } from "../../support/agents.ts";
import { KeeperSite, only } from "../../support/keeper-site.ts";
import { localScreens } from "../../support/local-screens.ts";
import { eventually, write } from "../../support/reading.ts";
import { shell, startOf } from "../../support/starts.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const NEVER = new AbortController().signal;

/** Reports the body of each line that it reads. */
const REPORTER = `stty -echo; while IFS= read -r body; do printf '\\033]7501;%s\\007' "$body"; done`;

function agentsOf(session: Session, screens?: ScreenReader): Agents {
	const agents = new Agents({
		sessions: { get: () => session },
		attachments: new Attachments(),
		screens,
		now: Date.now,
		report: (problem) => {
			throw problem;
		},
	});
	onTestFinished(() => agents.close());
	return agents;
}

const DIALOG = [
	"Would you like to run the following command?",
	"",
	"  $ ls",
	"",
	"› 1. Yes, proceed (y)",
	"  2. No, and tell Codex what to do differently (esc)",
	"",
	"  Press enter to confirm or esc to cancel",
];

test("a follower gets a reported dialog with its question and choices", async () => {
	const path = join(await temporaryDirectory(), "codex");
	const text = `\\033]7501;state=blocked:kind=permission:app=codex\\007${DIALOG.join("\\n")}`;
	await writeFile(path, `#!/bin/sh\nread -r x\nprintf '${text}'\nread -r x\n`, { mode: 0o755 });
	const { start, screens } = await localScreens();
	const session = await start(`exec ${path}`);
	const agents = agentsOf(session, screens);
	await eventually("the program", async () => (await agents.screen(session, NEVER)) !== null);
	let isFollowing = false;
	for await (const agent of agents.follow(session, NEVER)) {
		if (!isFollowing) await write(session, "\n");
		isFollowing = true;
		if (agent?.state !== "blocked") continue;
		expect(agent).toMatchObject({ signal: "osc7501", question: DIALOG[0], choices: [{ id: "1" }, { id: "2" }] });
		break;
	}
});

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

test("an agent whose tool runs in a terminal of its own works, until the tool is killed", async () => {
	const { session, screens, typing } = await runningAgent("codex");
	const agents = new Agents({
		sessions: { get: () => session },
		attachments: new Attachments(),
		screens,
		now: Date.now,
		report: (problem) => {
			throw problem;
		},
	});
	onTestFinished(() => agents.close());
	await promptAgent(typing, "tool");
	const tool = await eventually("the tool", async () => {
		const { isInner, program, pid } = await session.inspect();
		return isInner && program === "sleep" ? pid : undefined;
	});
	expect(await agents.read(session)).toMatchObject({ app: "codex", state: "working" });
	process.kill(Number(tool), "SIGKILL");
	await becomes(agents, session, ({ state }) => state === "done");
});

/** Reports as a hook of the agent in front. */
async function reportHook(session: Session, report: Omit<HookReport, "kind" | "message">): Promise<void> {
	const { foreground } = await session.signals();
	expect(await session.reportHook({ ...report, kind: null, message: null }, foreground ?? 0)).toBe(true);
}

test("the report of a hook survives the server, and ends with its agent", async () => {
	const site = await KeeperSite.create();
	const { keepers } = await site.open();
	const first = await keepers.start(startOf(["bash", "--norc", "--noprofile", "-i"]));
	await write(first, "sleep 1000\n");
	await eventually("the program in front", async () => (await first.inspect()).program === "sleep");
	await reportHook(first, { app: "pi", state: "blocked" });
	const before = await becomes(agentsOf(first), first, ({ state }) => state === "blocked");
	expect(before).toMatchObject({ app: "pi", signal: "hook", confidence: "sure" });
	await keepers.close();
	const session = only((await site.open()).adopted);
	const agents = agentsOf(session);
	expect(await agents.read(session)).toEqual(before);
	await write(session, "\u0003");
	await eventually("no agent", async () => (await agents.read(session)) === null);
	await session.kill({ signal: "SIGKILL" });
});

test("a dialog that a hook reports and the screen never shows is over after a moment", async () => {
	const { session, screens } = await runningAgent("claude");
	const agents = agentsOf(session, screens);
	await becomes(agents, session, ({ state }) => state === "idle");
	await reportHook(session, { app: "claude-code", state: "blocked" });
	await becomes(agents, session, ({ state, signal }) => state === "blocked" && signal === "hook");
	const after = await becomes(agents, session, ({ state }) => state === "idle");
	expect(after).toMatchObject({ signal: "screen", confidence: "likely" });
	expect((await agents.explain(session, new AbortController().signal)).others).toMatchObject([{ signal: "hook" }]);
	// The next report counts again, also of the same state.
	await write(session, "x");
	await eventually("the text", async () => (await session.end()).offset > after.offset);
	await reportHook(session, { app: "claude-code", state: "blocked" });
	await becomes(agents, session, ({ state, signal }) => state === "blocked" && signal === "hook");
});

test("a denied dialog ends the state that a hook has reported, though no hook runs", async () => {
	const { session, screens } = await runningAgent("claude");
	const agents = agentsOf(session, screens);
	await becomes(agents, session, ({ state }) => state === "idle");
	await write(session, "shell\r");
	await reportHook(session, { app: "claude-code", state: "blocked" });
	const asked = await becomes(agents, session, ({ choices }) => choices.length > 0);
	expect(asked).toMatchObject({ state: "blocked", signal: "hook", confidence: "sure" });
	await write(session, "\u001b");
	expect(await becomes(agents, session, ({ state }) => state !== "blocked")).toMatchObject({ signal: "screen" });
});
