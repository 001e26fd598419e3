/** `hawser exec`: runs a command in a session's shell. */

import { Command } from "commander";
import type { RunAnswer, Session } from "../../client/index.ts";
import { bytes, duration, reconnectTimeoutOption, wholeNumber } from "../args/values.ts";
import { withApprovalNotice } from "../connect/approval-notice.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";
import { EXIT_NOT_STARTED, exitNotStarted, UsageError, withStartErrors } from "../print/errors.ts";
import { print, printNotice } from "../print/output.ts";
import { safeJson, safeText } from "../print/safe-text.ts";
import { ShownOutput } from "../print/shown-output.ts";

type ExecFlags = WorkspaceFlags & {
	readonly timeout?: number;
	readonly resume?: number;
	readonly maxOutput?: number;
	readonly json?: true;
	readonly reconnectTimeout: number;
};

type Asked = {
	readonly command: string | number;
	/** How another command can name the session. */
	readonly called: string;
	readonly flags: ExecFlags;
};

/** As in timeout(1). */
const TIMED_OUT = 124;
/** The command ended with an unknown exit code. */
const UNKNOWN = 125;

export const exec: Command = withWorkspace(new Command("exec"))
	.summary("run a command in a session's shell")
	.description(
		"Runs a command in a session's bash, zsh or fish, with its directory, variables and functions, and " +
			"prints the output. One argument is a shell command line; several, after --, are a program and its " +
			"arguments. The command runs once, even if a connection or the server fails.\n\nExit code: the " +
			"command's own; 124 on timeout or if the command waits for input; 125 if the exit code is unknown " +
			"(shells without hooks); 255 if it did not run because the shell is busy or rejected it.",
	)
	.argument("<session>", "session ID, name or prefix")
	.argument("[command...]", "command to run")
	.option("--timeout <duration>", "stop waiting after this long, such as 30s; the command keeps running", duration)
	.option("--resume <number>", "resume waiting for command <number>", wholeNumber)
	.option("--max-output <bytes>", "maximum output to print, such as 64KiB; reports how much was skipped", bytes)
	.option("--json", "print the result as JSON")
	.addOption(reconnectTimeoutOption())
	.exitOverride(exitNotStarted)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser run --detach --name work -- bash\n  hawser exec work 'cd src && make'\n" +
			"  hawser exec work -- grep -rn 'a b' .\n  hawser exec work --timeout 1m 'npm test' || hawser exec work --resume 2",
	)
	.action((wanted: string, words: string[], flags: ExecFlags) =>
		withStartErrors(async () => {
			if ((words.length === 0) === (flags.resume === undefined)) {
				throw new UsageError("missing command, or --resume with a command number");
			}
			const { client } = await findServer(flags);
			const { id } = await findSession(client, wanted, flags);
			// Users paste suggested commands, so quote the name; an ID needs no --workspace.
			const called = flags.workspace === undefined ? quoted(wanted) : id;
			const asked = { command: flags.resume ?? lineOf(words), called, flags };
			const answer = await withApprovalNotice(client, id, show(client.sessions.at(id), asked));
			process.exitCode = codeOf(answer);
		}),
	);

/** Prints output as it arrives, or everything as JSON at the end. */
async function show(session: Session, { command, called, flags }: Asked): Promise<RunAnswer> {
	const { timeout, json, maxOutput = Number.POSITIVE_INFINITY, reconnectTimeout: reconnectTimeoutMs } = flags;
	const output = new ShownOutput(maxOutput, json === true);
	const answer = await session.exec(command, {
		...(timeout === undefined ? {} : { timeoutMs: timeout }),
		reconnectTimeoutMs: reconnectTimeoutMs,
		limit: 0,
		onOutput: async (part) => {
			const shown = output.take(part);
			if (json) return;
			if (part.omitted > 0) printNotice(`${part.omitted} bytes are missing: the session's log no longer has them`);
			await print(process.stdout.isTTY ? safeText(new TextDecoder().decode(shown)) : shown);
		},
	});
	if (json) await print(`${safeJson({ ...answer, ...output.collected() })}\n`);
	else if (output.leftOut > 0) {
		const all = `hawser logs ${called} --since ${answer.output.from}`;
		printNotice(`skipped ${output.leftOut} bytes; show them with: ${all}`);
	}
	const message = json ? undefined : sentenceOf(answer, called);
	if (message !== undefined) printNotice(message);
	return answer;
}

function sentenceOf(answer: RunAnswer, called: string): string | undefined {
	const { status, why, seq, front, exact, unhookedBy, exitCode } = answer;
	const program = safeText(front?.program ?? "something");
	const resume = seq === null ? "" : `; resume waiting with: hawser exec ${called} --resume ${seq}`;
	switch (status) {
		case "ended":
			return exact || exitCode !== null ? undefined : `ended with unknown exit code: ${whyUnknown(unhookedBy)}`;
		case "running":
			return `still running${resume}`;
		case "waiting":
			return front?.state === "prompt"
				? `the command started another shell (${program}), which gets the next commands; leave it with: hawser exec ${called} exit`
				: `${program} waits for input; answer with: hawser send ${called} TEXT --enter${resume}`;
		case "incomplete":
			return "the command is incomplete and was cancelled";
		case "rejected":
			return "the shell rejected the command";
		case "busy":
			return busySentence(why, program, called);
	}
}

/** Why the exit code is unknown. */
function whyUnknown(unhookedBy: string | null): string {
	if (unhookedBy === null) return "this shell has no hooks, or they were removed";
	if (unhookedBy === "readonly") return "can't add hooks to this shell, because its PS1 or PS0 is readonly";
	return `can't add hooks to ${safeText(unhookedBy)}; they need bash 5.2 or newer`;
}

function busySentence(why: RunAnswer["why"], program: string, called: string): string {
	switch (why) {
		case "typed":
			return `the prompt has unfinished text; nothing was sent; discard it with: hawser send ${called} --key C-c`;
		case "starting":
			return "the shell is not at its prompt yet; nothing was sent; wait longer with --timeout";
		default:
			return (
				`the shell is busy (${program}); nothing was sent; ` +
				`type into the program with: hawser send ${called} TEXT --enter --wait`
			);
	}
}

function codeOf({ status, exitCode, exact }: RunAnswer): number {
	if (status === "ended") return exitCode ?? (exact ? EXIT_NOT_STARTED : UNKNOWN);
	return status === "running" || status === "waiting" ? TIMED_OUT : EXIT_NOT_STARTED;
}

/** One word is a shell command line; several are quoted one by one. */
function lineOf(words: readonly string[]): string {
	const [first = ""] = words;
	return words.length === 1 ? first : words.map(quoted).join(" ");
}

/** Quotes for bash, zsh and fish. */
function quoted(word: string): string {
	if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word)) return word;
	return `'${word.replaceAll(/['\\]/g, (character) => `'\\${character}'`)}'`;
}
