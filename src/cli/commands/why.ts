/** `hawser why`: prints in one line what a session's program is waiting for. */

import { Command } from "commander";
import {
	type AgentExplanation,
	type AgentMessage,
	approvalTitle,
	type ProgramState,
	type Session,
} from "../../client/index.ts";
import { formatDuration } from "../../words/units.ts";
import { approvalWaitText } from "../connect/approval-notice.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";
import { print } from "../print/output.ts";
import { safeJson, safeLine } from "../print/safe-text.ts";
import { displayName, sessionStateText } from "../print/session-text.ts";

export const why: Command = withWorkspace(new Command("why"))
	.summary("explain what a session is waiting for")
	.description(
		"Prints in one line what a session's program is doing: working, waiting for input, or waiting for " +
			"something else. The answer comes from the kernel, or from the signals of a coding agent, not from silence. " +
			"Actions held for approval follow, one per line.",
	)
	.argument("[session]", "session ID, name or prefix (default: the most recent session)")
	.option("--explain", "also print the signals of its coding agent, and each screen rule that was tried")
	.option("--json", "print as JSON, with all fields")
	.addHelpText("after", "\nExamples:\n  hawser why build\n  hawser why build --json | jq -r .lastLine")
	.action(async (wanted: string | undefined, { json, explain, ...flags }: WhyFlags) => {
		const { client } = await findServer(flags);
		const session = await findSession(client, wanted, flags);
		// The signals that disagree are part of the sentence about an agent.
		const state = await client.sessions.at(session.id).inspect({ explain: true });
		if (json) return print(`${safeJson(state)}\n`);
		const held = (await client.approvals.list()).filter((one) => one.session.id === session.id);
		const what = state.state === "ended" ? `has ended: ${sessionStateText(session)}` : describe(state, Date.now());
		const name = displayName(session);
		const { agent, explanation } = state;
		const failure = agent?.state === "error" ? await failureOf(agent, client.sessions.at(session.id)) : "";
		await print(`${safeLine(`${name} ${agent ? agentText(agent, Date.now(), failure) : what}`)}\n`);
		for (const line of explanation ? signalLines(explanation, explain === true) : []) {
			await print(`${safeLine(`${name}: ${line}`)}\n`);
		}
		if (agent && explain) await print(`${safeLine(`${name}: the kernel says: ${what}`)}\n`);
		for (const one of held) {
			const wants = `${approvalTitle(one)}, ${approvalWaitText(one, Date.now())}`;
			await print(`${safeLine(`${displayName(session)}: ${wants}: ${one.preview.trim()}`)}\n`);
		}
	});

type WhyFlags = WorkspaceFlags & { readonly json?: true; readonly explain?: true };

/** The error of a failed turn: as the agent reports it, or else the last row of its screen above its input. */
async function failureOf({ details }: AgentMessage, session: Session): Promise<string> {
	return details ?? (await session.info({ overview: true })).overview?.lastLine ?? "";
}

function agentText(agent: AgentMessage, now: number, failure: string): string {
	const { app, state, kind, question, choices, children, confidence, signal, progress, since } = agent;
	const what = state === "blocked" ? `${AGENT_WAITS[kind ?? "other"]}` : AGENT_STATES[state];
	const text = state === "error" ? failure : question;
	const asked = text ? ` · "${text}"` : "";
	const offered = choices.length === 0 ? "" : ` · ${choices.map(({ id, label }) => `${id} ${label}`).join(", ")}`;
	const share = progress === null ? "" : ` · ${progress} %`;
	const working = children.filter((child) => child.state === "working" || child.state === "blocked").length;
	const below = working === 0 ? "" : ` · ${working} at work below it`;
	const isSure = confidence === "sure" ? "" : ", most likely";
	return `${what}${isSure} · ${app}, by ${SIGNALS[signal]}${asked}${offered}${share}${below} · for ${formatDuration(Math.max(0, now - since))}`;
}

/** The signals that disagree, and with `isWhole` everything that was looked at. */
function signalLines({ decisive, others, rules }: AgentExplanation, isWhole: boolean): string[] {
	const disagreeing = others.map(({ signal, state, source }) => `${SIGNALS[signal]} says ${state} (${source})`);
	if (!isWhole) return disagreeing;
	const decided = decisive
		? `decided by ${SIGNALS[decisive.signal]}: ${decisive.state} (${decisive.source})`
		: "no signal of a coding agent";
	const tried = rules
		? rules.map(({ rule, reason }) => (reason === null ? `rule ${rule}: matches` : `rule ${rule}: ${reason}`))
		: ["no screen rules: no agent that has some is in front"];
	return [decided, ...disagreeing, ...tried];
}

const SIGNALS: Readonly<Record<AgentMessage["signal"], string>> = {
	osc7501: "OSC 7501",
	hook: "its hook",
	title: "its title",
	notification: "its notification",
	screen: "its screen",
};

const AGENT_STATES: Readonly<Record<Exclude<AgentMessage["state"], "blocked">, string>> = {
	working: "is at work",
	done: "has finished its turn",
	idle: "is idle",
	error: "has failed in its turn",
};

const AGENT_WAITS: Readonly<Record<NonNullable<AgentMessage["kind"]> | "other", string>> = {
	permission: "waits for permission",
	question: "waits for an answer",
	trust: "asks whether to trust something",
	login: "waits for a sign-in",
	other: "waits for an answer",
};

function describe(state: ProgramState, now: number): string {
	const { program, pid, cwd, lastLine, confidence } = state;
	const who = program === null ? "" : ` · ${program} (${pid})${cwd === null ? "" : ` in ${cwd}`}`;
	const quiet = ` · no output for ${formatDuration(Math.max(0, now - state.since))}`;
	const asked = lastLine === "" ? "" : ` · "${lastLine}"`;
	const isSure = confidence === "sure" ? "" : confidence === "likely" ? " (likely)" : " (guess)";
	return `${sentenceOf(state)}${isSure}${who}${asked}${quiet}`;
}

function sentenceOf({ state, kind, confidence }: ProgramState): string {
	switch (state) {
		case "busy":
			return "has unread input";
		case "running":
			return "is running";
		case "flow-stopped":
			return kind === "key" ? "output stopped by Ctrl-S; Ctrl-Q resumes it" : "blocked: its output is not being read";
		case "waiting":
			// A program that edits lines itself (such as a shell or REPL) reads single keys, too.
			if (kind === "key" && confidence === "likely") return "waits for a key or a line";
			return WAITS[kind ?? ""] ?? `waits for a ${kind}`;
		case "prompt":
			return "is at its prompt";
		case "tui":
			return "full-screen program waiting for keys";
		case "listening":
			return "is running and accepts input";
		case "disk":
			return "waits for the disk";
		case "stopped":
			return "is stopped (resume with SIGCONT)";
		case "sleeping":
			return SLEEPS[kind ?? ""] ?? "is blocked, but not on input";
		case "unknown":
			return UNKNOWN[kind ?? ""] ?? "can't be inspected";
		case "ended":
			return "has ended";
		default:
			return state;
	}
}

const WAITS: Readonly<Record<string, string>> = {
	secret: "waits for a secret (echo off)",
	reply: "waits for a reply from the terminal",
};

const SLEEPS: Readonly<Record<string, string>> = {
	sleep: "is sleeping",
	child: "waits for a child process",
	thread: "waits for a thread",
	socket: "waits for a connection",
	lock: "waits for a lock",
	signal: "waits for a signal",
	events: "waits for events",
	read: "waits to read a pipe or file",
	write: "waits to write to a pipe",
};

const UNKNOWN: Readonly<Record<string, string>> = {
	denied: "permission to inspect denied",
	relay: "runs on another machine (ssh)",
	slow: "inspection timed out",
	"no-process": "has no foreground process",
};
