/** `hawser wait`: until a program has ended, has gone quiet, or has written or shown something. */

import { Command, InvalidArgumentError } from "commander";
import { Countdown } from "../../client/countdown.ts";
import { type ExitMessage, follow, type ScreenCondition, type Session } from "../../client/index.ts";
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
	readonly screen?: string;
	readonly regexp?: true;
	readonly stable?: number;
	readonly rows?: readonly [number, number];
	readonly since: number;
	readonly timeout?: number;
	readonly json?: true;
};

const MET = 0;
const TIMED_OUT = 2;
const GONE = 3;

/** How waiting ended. */
type Verdict =
	| { readonly kind: "match" | "idle" | "screen" | "stable"; readonly offset: number }
	| { readonly kind: "exit"; readonly exit: ExitMessage }
	| { readonly kind: "lost" | "gone" | "timeout" }
	/** The session is as it was, but we have no way to it any more. */
	| { readonly kind: "cut"; readonly message: string };

export const wait: Command = withWorkspace(new Command("wait"))
	.summary("wait for something to happen")
	.description(
		"Waits until a session's program has ended, or has been quiet for a while, or has written what matches a " +
			"regular expression; or until its terminal shows a text, or has shown the same for a while.\n\nWaiting for the end ends with the program's own exit code (128+n for a signal), 254 when the " +
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
	.option("--screen <text>", "until its terminal shows this, in one row")
	.option("-E, --regexp", "take the text of --screen as a regular expression")
	.option("--stable <duration>", "until its terminal has shown the same text for this long, a minute at most", duration)
	.option("--rows <first-last>", "with --screen or --stable, look at these rows only; the topmost is 0", region)
	.option("--json", "print what happened as JSON")
	.option("--timeout <duration>", "give up after this long, such as 30s", duration)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser wait build && hawser logs build\n  hawser wait edit --screen '-- INSERT --' --timeout 5s\n  hawser wait web --match 'listening on' --timeout 30s\n" +
			"  at=$(hawser send build make --enter --offset); hawser wait build --since $at --match 'error|done'",
	)
	.exitOverride(endNotAttached)
	.action((wanted: string | undefined, flags: WaitFlags) => orNotAttached(() => start(wanted, flags)));

async function start(wanted: string | undefined, flags: WaitFlags): Promise<void> {
	check(flags);
	const { client } = await findServer(flags);
	const info = await findSession(client, wanted, flags);
	const session = client.sessions.at(info.id);
	const condition = screenCondition(flags);
	const verdict = await (condition
		? waitForScreen(session, condition, flags)
		: waitFor(session, info.offsets.end, flags));
	const sentence = sentenceOf(verdict, nameOf(info), flags);
	if (flags.json) await print(`${safeJson({ id: info.id, ...verdict })}\n`);
	else if (sentence !== undefined) remark(sentence);
	process.exitCode = isForEnd(flags) ? codeOfEnd(verdict) : codeOf(verdict);
}

function check({ exit, idle, match, screen, stable, regexp, rows }: WaitFlags): void {
	const conditions = [exit, idle, match, screen, stable].filter((each) => each !== undefined);
	if (conditions.length > 1) {
		throw new UsageError("wait for one thing: --exit, --idle, --match, --screen or --stable");
	}
	if (regexp && screen === undefined) throw new UsageError("-E belongs to --screen");
	if (rows && (screen ?? stable) === undefined) throw new UsageError("--rows belongs to --screen or --stable");
}

function isForEnd({ idle, match, screen, stable }: WaitFlags): boolean {
	return (idle ?? match ?? screen ?? stable) === undefined;
}

function screenCondition({ screen, regexp, stable, rows }: WaitFlags): ScreenCondition | undefined {
	const region = rows ? { region: rows } : {};
	if (stable !== undefined) return { stable, ...region };
	return screen === undefined ? undefined : { screen: regexp ? expression(screen) : screen, ...region };
}

async function waitForScreen(session: Session, condition: ScreenCondition, flags: WaitFlags): Promise<Verdict> {
	try {
		const { timeout } = flags;
		const result = await session.wait(condition, timeout === undefined ? {} : { timeoutMs: timeout });
		if (result.kind === "exit") return { kind: "exit", exit: result.exit };
		if (result.kind === "lost" || result.kind === "timeout") return { kind: result.kind };
		return { kind: result.kind, offset: result.offset };
	} catch (error) {
		return unreachable(error);
	}
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
		return unreachable(error);
	} finally {
		quiet.stop();
		whole.stop();
	}
}

function unreachable(error: unknown): Verdict {
	const explained = explain(error);
	if (!explained) throw error;
	return reasonOf(error) === "session_not_found" ? { kind: "gone" } : { kind: "cut", message: explained.sentence };
}

function codeOfEnd(verdict: Verdict): number {
	if (verdict.kind === "exit") return exitCodeOf({ kind: "exited", exit: verdict.exit });
	return verdict.kind === "timeout" ? NOT_ATTACHED : LOST;
}

function codeOf({ kind }: Verdict): number {
	if (kind === "cut") return LOST;
	if (kind === "timeout") return TIMED_OUT;
	return kind === "exit" || kind === "lost" || kind === "gone" ? GONE : MET;
}

function sentenceOf(verdict: Verdict, session: string, flags: WaitFlags): string | undefined {
	if (verdict.kind === "gone") return `session ${session} is gone`;
	if (verdict.kind === "lost") return "the session was lost: what became of its program is not known";
	if (verdict.kind === "cut") return verdict.message;
	if (verdict.kind === "timeout") return `session ${session} ${lacking(flags)} in time`;
	if (verdict.kind !== "exit" || isForEnd(flags)) return undefined;
	return `the program has ended (${verdict.exit.signal ?? verdict.exit.code}) before that`;
}

/** What was waited for, and did not happen. */
function lacking({ idle, match, screen, stable }: WaitFlags): string {
	if (screen !== undefined) return "has not shown that";
	if (stable !== undefined) return "has not shown the same for long enough";
	if (match) return "has written nothing that matches";
	return idle === undefined ? "has not ended" : "was not quiet for long enough";
}

/** `3`, or `0-3`. */
function region(text: string): readonly [number, number] {
	const [, first, last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [];
	if (first !== undefined && Number(first) <= Number(last)) return [Number(first), Number(last)];
	throw new InvalidArgumentError("expected a row from 0 on, or the first and the last, such as 0-3");
}

/** Without the expression, which is told anyway. */
function faultOf(error: unknown): string | undefined {
	return String(error).split(": ").at(-1);
}

function expression(source: string): RegExp {
	try {
		return new RegExp(source, "m");
	} catch (error) {
		throw new InvalidArgumentError(`expected a regular expression (${faultOf(error)})`);
	}
}
