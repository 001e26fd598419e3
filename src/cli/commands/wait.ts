/** `hawser wait`: until a program has ended, has gone quiet, or has written something. */

import { Command, InvalidArgumentError } from "commander";
import { Countdown } from "../../client/countdown.ts";
import { type ExitMessage, follow, type Session } from "../../client/index.ts";
import { Search } from "../../client/search.ts";
import { nameOf } from "../describe-session.ts";
import { exitCodeOf } from "../ending.ts";
import { endNotAttached, explain, LOST, NOT_ATTACHED, orNotAttached, reasonOf, UsageError } from "../errors.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { print, remark } from "../output.ts";
import { duration, PATIENCE_MS, wholeNumber } from "../parse.ts";
import { safeJson } from "../safe-text.ts";

type WaitFlags = WorkspaceFlags & {
	readonly exit?: true;
	readonly idle?: number;
	readonly match?: RegExp;
	readonly since: number;
	readonly timeout?: number;
	readonly json?: true;
};

const MET = 0;
const TIMED_OUT = 2;
const GONE = 3;

/** How waiting ended. */
type Verdict =
	| { readonly kind: "match" | "idle"; readonly offset: number }
	| { readonly kind: "exit"; readonly exit: ExitMessage }
	| { readonly kind: "lost" | "gone" | "timeout" }
	/** The session is as it was, but we have no way to it any more. */
	| { readonly kind: "cut"; readonly message: string };

export const wait: Command = withWorkspace(new Command("wait"))
	.summary("wait for something to happen")
	.description(
		"Waits until a session's program has ended, or has been quiet for a while, or has written what matches a " +
			"regular expression.\n\nWaiting for the end ends with the program's own exit code (128+n for a signal), 254 when the " +
			"session or the way to it was lost, 255 when the time was up or waiting could not begin. Waiting for anything else " +
			"ends with 0 when that happened, 2 when the time was up, 3 when it can't happen any more, and else with 254 or 255 too.",
	)
	.argument("[session]", "its id, its name, or the beginning of either (default: the most recent)")
	.option("--exit", "until the program has ended (the default)")
	.option("--idle <duration>", "until it has written nothing for this long, such as 2s", duration)
	.option("--match <regexp>", "until its text, without colours and cursor movements, matches", expression)
	.option(
		"--since <offset>",
		"with --match, look at output from this byte on; hawser send --offset gives it",
		wholeNumber,
		0,
	)
	.option("--json", "print what happened as JSON")
	.option("--timeout <duration>", "give up after this long, such as 30s", duration)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser wait build && hawser logs build\n  hawser wait web --match 'listening on' --timeout 30s\n" +
			"  at=$(hawser send build make --enter --offset); hawser wait build --since $at --match 'error|done'",
	)
	.exitOverride(endNotAttached)
	.action((wanted: string | undefined, flags: WaitFlags) => orNotAttached(() => start(wanted, flags)));

async function start(wanted: string | undefined, flags: WaitFlags): Promise<void> {
	const conditions = [flags.exit, flags.idle, flags.match].filter((each) => each !== undefined);
	if (conditions.length > 1) throw new UsageError("wait for one thing: --exit, --idle or --match");
	const { client } = await findServer(flags);
	const info = await findSession(client, wanted, flags);
	const verdict = await waitFor(client.sessions.at(info.id), info.offsets.end, flags);
	const sentence = sentenceOf(verdict, nameOf(info), flags);
	if (flags.json) await print(`${safeJson({ id: info.id, ...verdict })}\n`);
	else if (sentence !== undefined) remark(sentence);
	const isForEnd = flags.idle === undefined && flags.match === undefined;
	process.exitCode = isForEnd ? codeOfEnd(verdict) : codeOf(verdict);
}

async function waitFor(session: Session, end: number, flags: WaitFlags): Promise<Verdict> {
	const over = new AbortController();
	let decided: Verdict | undefined;
	let next = end;
	const decide = (verdict: Verdict) => {
		decided ??= verdict;
		over.abort();
	};
	const quiet = new Countdown(flags.idle, () => decide({ kind: "idle", offset: next }));
	const whole = new Countdown(flags.timeout, () => decide({ kind: "timeout" }));
	const search = flags.match && new Search(flags.match);
	try {
		quiet.start();
		whole.start();
		const outputs = follow(session, flags.match ? flags.since : end, {
			signal: over.signal,
			patienceMs: PATIENCE_MS,
			// While nobody can tell whether it is quiet, it is not.
			onLost: () => {
				quiet.stop();
				remark("the server is away; waiting for it");
			},
			onFound: () => quiet.start(),
		});
		for await (const output of outputs) {
			quiet.start();
			next = output.next;
			if (search?.add(output.offset, output.bytes)) return { kind: "match", offset: next };
			if (output.isLast) return output.exit ? { kind: "exit", exit: output.exit } : { kind: "lost" };
		}
		return decided ?? { kind: "gone" };
	} catch (error) {
		const explained = explain(error);
		if (!explained) throw error;
		return reasonOf(error) === "session_not_found" ? { kind: "gone" } : { kind: "cut", message: explained.sentence };
	} finally {
		quiet.stop();
		whole.stop();
	}
}

function codeOfEnd(verdict: Verdict): number {
	if (verdict.kind === "exit") return exitCodeOf({ kind: "exited", exit: verdict.exit });
	return verdict.kind === "timeout" ? NOT_ATTACHED : LOST;
}

function codeOf({ kind }: Verdict): number {
	if (kind === "match" || kind === "idle") return MET;
	if (kind === "cut") return LOST;
	return kind === "timeout" ? TIMED_OUT : GONE;
}

function sentenceOf(verdict: Verdict, session: string, flags: WaitFlags): string | undefined {
	if (verdict.kind === "gone") return `session ${session} is gone`;
	if (verdict.kind === "lost") return "the session was lost: what became of its program is not known";
	if (verdict.kind === "cut") return verdict.message;
	if (verdict.kind === "timeout") return `session ${session} ${lacking(flags)} in time`;
	if (verdict.kind !== "exit" || (flags.idle === undefined && !flags.match)) return undefined;
	return `the program has ended (${verdict.exit.signal ?? verdict.exit.code}) before that`;
}

/** What was waited for, and did not happen. */
function lacking({ idle, match }: WaitFlags): string {
	if (match) return "has written nothing that matches";
	return idle === undefined ? "has not ended" : "was not quiet for long enough";
}

function expression(source: string): RegExp {
	try {
		return new RegExp(source, "m");
	} catch (error) {
		throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
	}
}
