/** `hawser exec`: runs a command in a shell that lives in a session. */

import { Command } from "commander";
import type { ExecOutput, RunAnswer, Session } from "../../client/index.ts";
import { limits } from "../../protocol/messages.ts";
import { endNotAttached, NOT_ATTACHED, orNotAttached, UsageError } from "../errors.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { orSayHeld } from "../held.ts";
import { print, remark } from "../output.ts";
import { duration, patience, wholeNumber } from "../parse.ts";
import { safeJson, safeText } from "../safe-text.ts";

type ExecFlags = WorkspaceFlags & {
	readonly timeout?: number;
	readonly resume?: number;
	readonly json?: true;
	readonly patience: number;
};

type Asked = {
	readonly command: string | number;
	/** The session, as it can be named in another command. */
	readonly called: string;
	readonly flags: ExecFlags;
};

/** As `timeout` and others have it. */
const TIMED_OUT = 124;
/** It has ended, and nobody can tell how. */
const UNKNOWN = 125;

export const exec: Command = withWorkspace(new Command("exec"))
	.summary("run a command in a session's shell")
	.description(
		"Runs a command in the bash, zsh or fish that a session is, with its directory, variables and functions, and prints " +
			"what it wrote. One argument is a line for the shell; several, after --, are a program and its arguments.\n\n" +
			"The exit code is the command's own, 124 when the time was up or the command waits for somebody to type, 255 when " +
			"it did not run: the shell is busy, or would not run it. In other shells, and without hooks, the command is typed: " +
			"how it ended is not known then (125). It runs once, whatever happens to connections and servers.",
	)
	.argument("<session>", "its id, its name, or the beginning of either")
	.argument("[command...]", "what to run")
	.option("--timeout <duration>", "wait this long at most, such as 30s; the command runs on", duration)
	.option("--resume <number>", "go on waiting for the command with this number", wholeNumber)
	.option("--json", "print all about it as JSON")
	.addOption(patience())
	.exitOverride(endNotAttached)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser run --detach --name work -- bash\n  hawser exec work 'cd src && make'\n" +
			"  hawser exec work -- grep -rn 'a b' .\n  hawser exec work --timeout 1m 'npm test' || hawser exec work --resume 2",
	)
	.action((wanted: string, words: string[], flags: ExecFlags) =>
		orNotAttached(async () => {
			if ((words.length === 0) === (flags.resume === undefined)) {
				throw new UsageError("give a command, or --resume and the number of one");
			}
			const { client } = await findServer(flags);
			const { id } = await findSession(client, wanted, flags);
			// What is proposed can be pasted: an id needs no workspace.
			const called = flags.workspace === undefined ? quoted(wanted) : id;
			const asked = { command: flags.resume ?? lineOf(words), called, flags };
			const answer = await orSayHeld(client, id, show(client.sessions.at(id), asked));
			process.exitCode = codeOf(answer);
		}),
	);

/** Prints what the command writes as it comes, or all about it at its end. */
async function show(session: Session, { command, called, flags }: Asked): Promise<RunAnswer> {
	const { timeout, json, patience: patienceMs } = flags;
	const answer = await session.exec(command, {
		...(timeout === undefined ? {} : { timeoutMs: timeout }),
		patienceMs,
		limit: limits.maxOutputBytes,
		...(json ? {} : { onOutput: (part: ExecOutput) => printPart(part, called) }),
	});
	if (json) await print(`${safeJson(answer)}\n`);
	const sentence = json ? undefined : sentenceOf(answer, called);
	if (sentence !== undefined) remark(sentence);
	return answer;
}

async function printPart({ offset, text, omitted }: ExecOutput, called: string): Promise<void> {
	if (omitted > 0)
		remark(`${omitted} bytes before this are left out: hawser logs ${called} --since ${offset} shows them`);
	await print(process.stdout.isTTY ? safeText(text) : text);
}

function sentenceOf({ status, seq, front, exact, exitCode }: RunAnswer, called: string): string | undefined {
	const program = safeText(front?.program ?? "something");
	const goOn = seq === null ? "" : `; to go on waiting: hawser exec ${called} --resume ${seq}`;
	switch (status) {
		case "ended":
			return exact || exitCode !== null ? undefined : "it has ended; how is not known, for this shell has no hooks";
		case "running":
			return `it still runs${goOn}`;
		case "waiting":
			return `${program} waits for somebody to type; to answer: hawser send ${called} TEXT --enter${goOn}`;
		case "incomplete":
			return "the command is not whole, and was given up";
		case "rejected":
			return "the shell would not run it";
		case "busy":
			return `the shell is busy (${program}), and nothing was sent`;
	}
}

function codeOf({ status, exitCode, exact }: RunAnswer): number {
	if (status === "ended") return exitCode ?? (exact ? NOT_ATTACHED : UNKNOWN);
	return status === "running" || status === "waiting" ? TIMED_OUT : NOT_ATTACHED;
}

/** One word is a line; of several each stays what it is. */
function lineOf(words: readonly string[]): string {
	const [first = ""] = words;
	return words.length === 1 ? first : words.map(quoted).join(" ");
}

/** For bash, zsh and fish. */
function quoted(word: string): string {
	if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word)) return word;
	return `'${word.replaceAll(/['\\]/g, (character) => `'\\${character}'`)}'`;
}
