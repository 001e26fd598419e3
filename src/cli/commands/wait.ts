/** `hawser wait`: waits for a session to end, go quiet, or write or show something. */

import { Command, InvalidArgumentError } from "commander";
import {
	type AgentCondition,
	type AgentMessage,
	type AgentState,
	type ExitMessage,
	follow,
	offsetsOf,
	type ScreenCondition,
	type Session,
} from "../../client/index.ts";
import { RestartableTimer } from "../../client/output/countdown.ts";
import { OutputMatcher } from "../../client/output/output-matcher.ts";
import { duration, RECONNECT_TIMEOUT_MS, wholeNumber } from "../args/values.ts";
import { exitCodeOf } from "../attach/outcome.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";
import { lastEcho, withoutEcho } from "../connect/last-echo.ts";
import {
	EXIT_CONNECTION_LOST,
	EXIT_NOT_STARTED,
	errorCode,
	exitNotStarted,
	toUserError,
	UsageError,
	withStartErrors,
} from "../print/errors.ts";
import { print, printNotice } from "../print/output.ts";
import { safeJson } from "../print/safe-text.ts";
import { displayName } from "../print/session-text.ts";

type WaitFlags = WorkspaceFlags & {
	readonly exit?: true;
	readonly for?: readonly AgentState[];
	readonly idle?: number;
	readonly match?: RegExp;
	readonly screen?: string;
	readonly regexp?: true;
	readonly stable?: number;
	readonly rows?: readonly [number, number];
	readonly includeEcho?: true;
	readonly since: number;
	readonly timeout?: number;
	readonly json?: true;
};

const AGENT_STATES = ["blocked", "done", "idle", "error", "working"] as const;
const MET = 0;
const TIMED_OUT = 2;
const GONE = 3;

type WaitOutcome =
	| { readonly kind: "match" | "idle" | "screen" | "stable"; readonly offset: number }
	| { readonly kind: "agent"; readonly agent: AgentMessage; readonly offset: number }
	| { readonly kind: "exit"; readonly exit: ExitMessage }
	| { readonly kind: "lost" | "gone" }
	/** `agent` is known after a wait for its state; null without an agent. */
	| { readonly kind: "timeout"; readonly agent?: AgentMessage | null }
	/** The session is unchanged, but this command lost its connection. */
	| { readonly kind: "disconnected"; readonly message: string };

export const wait: Command = withWorkspace(new Command("wait"))
	.summary("wait for a session to end or show something")
	.description(
		"Waits until a session's program ends, stops writing, writes a match of a regular expression, until its screen " +
			"shows a text or stays unchanged, or until its coding agent is blocked, done, idle, working or failed.\n\nExit code when waiting for the end: the program's own " +
			"(128+n for a signal); 254 if the session or the connection was lost; 255 on timeout or if waiting " +
			"could not start. For other conditions: 0 if met; 2 on timeout; 3 if it can no longer be met; 254 or " +
			"255 as above.",
	)
	.argument("[session]", "session ID, name or prefix (default: the most recent session)")
	.option("--exit", "until the program ends (default)")
	.option(
		"--for <states>",
		"until its coding agent is blocked, done, idle, error or working; comma-separated. idle includes done",
		agentStates,
	)
	.option("--idle <duration>", "until output stops for this long, such as 2s", duration)
	.option("--match <regexp>", "until the output matches, ignoring colors and cursor movement", expression)
	.option("--include-echo", "with --match: also search the echo of the line that hawser send typed last")
	.option("--since <offset>", "with --match: search from this byte offset, as printed by send --offset", wholeNumber, 0)
	.option("--screen <text>", "until a row of the screen contains this text")
	.option("-E, --regexp", "treat --screen as a regular expression")
	.option("--stable <duration>", "until the screen is unchanged for this long, at most 1m", duration)
	.option("--rows <first-last>", "with --screen or --stable: only these rows, counted from 0", region)
	.option("--json", "print the result as JSON")
	.option("--timeout <duration>", "timeout, such as 30s", duration)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser wait build && hawser logs build\n  hawser wait edit --screen '-- INSERT --' --timeout 5s\n  hawser wait web --match 'listening on' --timeout 30s\n" +
			"  hawser wait agent --for blocked,idle --json | jq -r .agent.question\n" +
			"  at=$(hawser send build make --enter --offset); hawser wait build --since $at --match 'error|done'",
	)
	.exitOverride(exitNotStarted)
	.action((wanted: string | undefined, flags: WaitFlags) => withStartErrors(() => start(wanted, flags)));

async function start(wanted: string | undefined, flags: WaitFlags): Promise<void> {
	check(flags);
	const { client } = await findServer(flags);
	const info = await findSession(client, wanted, flags);
	const session = client.sessions.at(info.id);
	const condition = longCondition(flags);
	const verdict = await (condition
		? waitForCondition(session, condition, flags)
		: waitFor(session, offsetsOf(info).end, flags));
	const message = sentenceOf(verdict, displayName(info), flags);
	if (flags.json) await print(`${safeJson({ id: info.id, ...verdict })}\n`);
	else if (message !== undefined) printNotice(message);
	process.exitCode = isForEnd(flags) ? codeOfEnd(verdict) : codeOf(verdict);
}

function check({ exit, for: states, idle, match, includeEcho, screen, stable, regexp, rows }: WaitFlags): void {
	const conditions = [exit, states, idle, match, screen, stable].filter((each) => each !== undefined);
	if (conditions.length > 1) {
		throw new UsageError("use only one of --exit, --for, --idle, --match, --screen and --stable");
	}
	if (includeEcho && match === undefined) throw new UsageError("--include-echo needs --match");
	if (regexp && screen === undefined) throw new UsageError("-E needs --screen");
	if (rows && (screen ?? stable) === undefined) throw new UsageError("--rows needs --screen or --stable");
}

function isForEnd({ for: states, idle, match, screen, stable }: WaitFlags): boolean {
	return (states ?? idle ?? match ?? screen ?? stable) === undefined;
}

function longCondition({ for: states, screen, regexp, stable, rows }: WaitFlags): LongCondition | undefined {
	if (states) return { agent: states };
	const region = rows ? { region: rows } : {};
	if (stable !== undefined) return { stable, ...region };
	return screen === undefined ? undefined : { screen: regexp ? expression(screen) : screen, ...region };
}

type LongCondition = ScreenCondition | AgentCondition;

async function waitForCondition(session: Session, condition: LongCondition, flags: WaitFlags): Promise<WaitOutcome> {
	try {
		const { timeout } = flags;
		const result = await session.wait(condition, timeout === undefined ? {} : { timeoutMs: timeout });
		if (result.kind === "exit") return { kind: "exit", exit: result.exit };
		if (result.kind === "lost") return { kind: result.kind };
		if (result.kind === "timeout") return { kind: result.kind, ...(flags.for ? await agentOf(session) : {}) };
		if (result.kind === "agent") return { kind: result.kind, agent: result.agent, offset: result.offset };
		return { kind: result.kind, offset: result.offset };
	} catch (error) {
		return toOutcome(error);
	}
}

/** The agent after a wait for its state. The answer to the wait does not depend on it. */
async function agentOf(session: Session): Promise<{ readonly agent?: AgentMessage | null }> {
	try {
		return { agent: (await session.inspect()).agent ?? null };
	} catch (error) {
		if (toUserError(error)) return {};
		throw error;
	}
}

async function waitFor(session: Session, end: number, flags: WaitFlags): Promise<WaitOutcome> {
	const over = new AbortController();
	let decided: WaitOutcome | undefined;
	let next = end;
	const decide = (verdict: WaitOutcome) => {
		decided ??= verdict;
		over.abort();
	};
	const quiet = new RestartableTimer(flags.idle, () => decide({ kind: "idle", offset: next }));
	const whole = new RestartableTimer(flags.timeout, () => decide({ kind: "timeout" }));
	const search = flags.match && new OutputMatcher(flags.match);
	try {
		quiet.start();
		whole.start();
		const outputs = follow(session, flags.match ? flags.since : end, {
			signal: over.signal,
			reconnectTimeoutMs: RECONNECT_TIMEOUT_MS,
			// Output may have been missed, so the quiet time starts again.
			onLost: () => {
				quiet.stop();
				printNotice("server unreachable; reconnecting");
			},
			onFound: () => quiet.start(),
		});
		const echo = flags.match && !flags.includeEcho ? await lastEcho(session.id) : undefined;
		for await (const output of outputs) {
			quiet.start();
			next = output.next;
			const parts = withoutEcho(output.offset, output.bytes, echo);
			if (parts.some(({ offset, bytes }) => search?.add(offset, bytes))) return { kind: "match", offset: next };
			if (output.isLast) return output.exit ? { kind: "exit", exit: output.exit } : { kind: "lost" };
		}
		return decided ?? { kind: "gone" };
	} catch (error) {
		return toOutcome(error);
	} finally {
		quiet.stop();
		whole.stop();
	}
}

function toOutcome(error: unknown): WaitOutcome {
	const explained = toUserError(error);
	if (!explained) throw error;
	return errorCode(error) === "session_not_found"
		? { kind: "gone" }
		: { kind: "disconnected", message: explained.message };
}

function codeOfEnd(verdict: WaitOutcome): number {
	if (verdict.kind === "exit") return exitCodeOf({ kind: "exited", exit: verdict.exit });
	return verdict.kind === "timeout" ? EXIT_NOT_STARTED : EXIT_CONNECTION_LOST;
}

function codeOf({ kind }: WaitOutcome): number {
	if (kind === "disconnected") return EXIT_CONNECTION_LOST;
	if (kind === "timeout") return TIMED_OUT;
	return kind === "exit" || kind === "lost" || kind === "gone" ? GONE : MET;
}

function sentenceOf(verdict: WaitOutcome, session: string, flags: WaitFlags): string | undefined {
	if (verdict.kind === "gone") return `session ${session} no longer exists`;
	if (verdict.kind === "lost") return `session ${session} was lost; the exit status is unknown`;
	if (verdict.kind === "disconnected") return verdict.message;
	if (verdict.kind === "timeout") return `timed out: session ${session} ${unmetCondition(flags, verdict.agent)}`;
	if (verdict.kind !== "exit" || isForEnd(flags)) return undefined;
	return `the program ended (${verdict.exit.signal ?? verdict.exit.code}) first`;
}

/** The condition that was not met. */
function unmetCondition(
	{ for: states, idle, match, screen, stable }: WaitFlags,
	agent: AgentMessage | null | undefined,
): string {
	if (states) {
		const present = agent ? `; its agent is in state ${agent.state}` : "";
		return `had no agent in state ${states.join(" or ")}${present}`;
	}
	if (screen !== undefined) return "did not show the text";
	if (stable !== undefined) return "kept changing its screen";
	if (match) return "wrote no match";
	return idle === undefined ? "is still running" : "kept writing";
}

/** Parses states; `idle` includes a finished turn. */
function agentStates(text: string): readonly AgentState[] {
	const states = text.split(",").map((one) => AGENT_STATES.find((state) => state === one.trim()));
	if (states.includes(undefined)) throw new InvalidArgumentError(`choices: ${AGENT_STATES.join(", ")}`);
	const known = states.filter((state) => state !== undefined);
	return known.includes("idle") ? [...new Set([...known, "done" as const])] : known;
}

/** Parses `3` or `0-3`. */
function region(text: string): readonly [number, number] {
	const [, first, last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [];
	if (first !== undefined && Number(first) <= Number(last)) return [Number(first), Number(last)];
	throw new InvalidArgumentError("expected a row or a range of rows, such as 0-3");
}

/** The parser's message without the expression, which the error shows anyway. */
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
