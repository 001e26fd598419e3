/** `hawser why`: what a session's program waits for, in a line. */

import { Command } from "commander";
import { type ProgramState, wantsSentence } from "../../client/index.ts";
import { formatDuration } from "../../protocol/units.ts";
import { nameOf, stateOf } from "../describe-session.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { heldSentence } from "../held.ts";
import { print } from "../output.ts";
import { safeJson, safeLine } from "../safe-text.ts";

export const why: Command = withWorkspace(new Command("why"))
	.summary("say what a session waits for")
	.description(
		"Says in a line what a session's program does now: whether it works, waits for somebody to type, or for " +
			"something else; as the kernel tells it, not by guessing from silence. What is held there until somebody approves " +
			"it is said below, a line each.",
	)
	.argument("[session]", "its id, its name, or the beginning of either (default: the most recent)")
	.option("--json", "as JSON, with everything the server says")
	.addHelpText("after", "\nExamples:\n  hawser why build\n  hawser why build --json | jq -r .lastLine")
	.action(async (wanted: string | undefined, { json, ...flags }: WorkspaceFlags & { json?: true }) => {
		const { client } = await findServer(flags);
		const session = await findSession(client, wanted, flags);
		const state = await client.sessions.at(session.id).inspect();
		if (json) return print(`${safeJson(state)}\n`);
		const held = (await client.approvals.list()).filter((one) => one.session.id === session.id);
		const what = state.state === "ended" ? `has ended: ${stateOf(session)}` : describe(state, Date.now());
		await print(`${safeLine(`${nameOf(session)} ${what}`)}\n`);
		for (const one of held) {
			const wants = `${wantsSentence(one)}, which waits ${heldSentence(one, Date.now())}`;
			await print(`${safeLine(`${nameOf(session)}: ${wants}: ${one.preview.trim()}`)}\n`);
		}
	});

function describe(state: ProgramState, now: number): string {
	const { program, pid, cwd, lastLine, confidence } = state;
	const who = program === null ? "" : ` · ${program} (${pid})${cwd === null ? "" : ` in ${cwd}`}`;
	const quiet = ` · quiet for ${formatDuration(Math.max(0, now - state.since))}`;
	const asked = lastLine === "" ? "" : ` · "${lastLine}"`;
	const isSure = confidence === "sure" ? "" : confidence === "likely" ? ", most likely" : ", by the look of it";
	return `${sentenceOf(state)}${isSure}${who}${asked}${quiet}`;
}

function sentenceOf({ state, kind, confidence }: ProgramState): string {
	switch (state) {
		case "busy":
			return "has input that it has not read yet";
		case "running":
			return "is running";
		case "flow-stopped":
			return kind === "key" ? "can't write: Ctrl-S was pressed, and Ctrl-Q lets it go on" : "can't write: nobody reads";
		case "waiting":
			// Who edits lines itself listens for keys, and not for keys alone.
			if (kind === "key" && confidence === "likely") return "waits for a key, or for a line that it edits itself";
			return WAITS[kind ?? ""] ?? `waits for a ${kind}`;
		case "prompt":
			return "is ready for a command";
		case "tui":
			return "shows its screen, and waits for keys";
		case "listening":
			return "goes on by itself, and takes input when there is some";
		case "disk":
			return "waits for the disk";
		case "stopped":
			return "is stopped; SIGCONT lets it go on";
		case "sleeping":
			return SLEEPS[kind ?? ""] ?? "waits for something else than input";
		case "unknown":
			return UNKNOWN[kind ?? ""] ?? "can't be looked at";
		case "ended":
			return "has ended";
		default:
			return state;
	}
}

const WAITS: Readonly<Record<string, string>> = {
	secret: "waits for a secret, which it will not show",
	reply: "has asked its terminal something, and waits for the reply",
};

const SLEEPS: Readonly<Record<string, string>> = {
	sleep: "sleeps for a time",
	child: "waits for a process that it started",
	thread: "waits for another of its threads",
	socket: "waits for a connection",
	lock: "waits for a lock",
	signal: "waits for a signal",
	events: "waits for events other than input",
	read: "waits for another process's output, or for a file",
	write: "waits until another process reads what it writes",
};

const UNKNOWN: Readonly<Record<string, string>> = {
	denied: "runs something that may not be looked at",
	relay: "shows what runs elsewhere, where nobody can look",
	slow: "could not be looked at in time",
	nobody: "has nobody in front of its terminal",
};
