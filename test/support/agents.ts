/** Sessions with a program that behaves like a coding agent or plays its recording, and what answers and prompts need of them. */

import { chmod, copyFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { AgentMessage } from "../../src/api/types.ts";
import type { Session } from "../../src/core/session/session.ts";
import { AgentTyping, type AgentView } from "../../src/services/agents/agent-typing.ts";
import { builtinRules } from "../../src/services/agents/screen-rules/builtin/index.ts";
import { AgentScreenWatch } from "../../src/services/agents/screen-watch.ts";
import { type LocalScreens, localScreens } from "./local-screens.ts";
import { temporaryDirectory } from "./temporary.ts";

const RECORDED_PROGRAM = fileURLToPath(new URL("../fixtures/recorded-agent.js", import.meta.url));
const PROGRAM = fileURLToPath(new URL("../fixtures/agent.js", import.meta.url));

/** The path of a copy of the test agent with this name. */
export async function agentProgram(name: "codex" | "claude"): Promise<string> {
	const path = join(await temporaryDirectory(), name);
	await copyFile(PROGRAM, path);
	await chmod(path, 0o755);
	return path;
}

/** A program that plays the recording of a real agent, and the file that gets all that is typed into it. */
export async function recordedAgent(
	recording: "codex-0.166.0" | "gemini-0.61.0" | "opencode-1.18.33",
	states: readonly string[],
): Promise<{ readonly argv: string[]; readonly typed: () => Promise<string> }> {
	const directory = await temporaryDirectory();
	const path = join(directory, recording.replace(/-.*/, ""));
	await copyFile(RECORDED_PROGRAM, path);
	await chmod(path, 0o755);
	const file = join(directory, "typed");
	const folder = fileURLToPath(new URL(`../fixtures/agents/${recording}/120x40`, import.meta.url));
	return { argv: [path, file, folder, ...states], typed: () => readFile(file, "utf8").catch(() => "") };
}

export type RunningAgent = LocalScreens & {
	readonly session: Session;
	readonly watch: AgentScreenWatch;
	readonly typing: AgentTyping;
};

/** The state of the agent as its screen shows it, numbered by its dialogs. */
function viewOf(session: Session, watch: AgentScreenWatch): AgentView {
	let last = "";
	let episode = 0;
	const screen = (signal: AbortSignal) => watch.read(signal);
	const state = async (): Promise<AgentMessage | null> => {
		const found = await screen(new AbortController().signal);
		if (!found) return null;
		const { reading } = found;
		const dialog = reading?.dialog ?? null;
		const key = JSON.stringify([dialog?.question, dialog?.details, dialog?.choices]);
		if (key !== last) episode++;
		last = key;
		return {
			app: found.rules.agent,
			state: reading?.state ?? "working",
			kind: dialog?.kind ?? null,
			question: dialog?.question ?? null,
			details: dialog?.details ?? null,
			choices: (dialog?.choices ?? []).map(({ id, label }) => ({ id, label })),
			progress: null,
			title: null,
			children: [],
			episode,
			offset: (await session.end()).offset,
			since: 0,
			signal: "screen",
			confidence: "likely",
		};
	};
	return { state, screen };
}

/** Starts the test agent and waits for its first screen. */
export async function runningAgent(name: "codex" | "claude", flags = ""): Promise<RunningAgent> {
	const local = await localScreens();
	const session = await local.start(`exec ${process.execPath} ${await agentProgram(name)} ${flags}`);
	const watch = new AgentScreenWatch(session, { screens: local.screens, rules: builtinRules });
	const ending = new AbortController();
	onTestFinished(() => ending.abort());
	const typing = new AgentTyping({
		session,
		view: viewOf(session, watch),
		audited: (one) => one,
		fence: undefined,
		signal: ending.signal,
	});
	if (!(await typing.until(20_000, (found) => found?.reading ?? undefined))) throw new Error("the agent draws nothing");
	return { ...local, session, watch, typing };
}

/** All bytes that were typed into the session, as the program got them. */
export async function screenText({ screens, session }: Pick<RunningAgent, "screens" | "session">): Promise<string> {
	return (await screens.read(session, { signal: new AbortController().signal })).lines.join("\n").trimEnd();
}
