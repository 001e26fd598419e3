/** The six tools. Every conversation pays for these descriptions in tokens, so they are short. */

import Type, { type TObject } from "typebox";
import { Compile } from "typebox/compile";
import { limits } from "../../api/messages.ts";
import { withDeadline } from "../../core/async/deadline.ts";
import { SessionError } from "../../core/errors.ts";
import { isEnded } from "../../core/log/session-state.ts";
import { parseSignal } from "../../core/process/signals.ts";
import type { ShellCommands } from "../../core/session/operations.ts";
import type { Session } from "../../core/session/session.ts";
import type { BusyReason, RunStatus } from "../../core/shell/run-command.ts";
import { problemOf } from "../../http/validation.ts";
import { programState } from "../../services/attention/program-state.ts";
import { redact } from "../../services/reading/redaction.ts";
import type { WaitOutcome } from "../../services/waits/wait.ts";
import { sendToAgent } from "./agents.ts";
import type { Call, PendingSecret } from "./call.ts";
import { typeInto } from "./input.ts";
import { endText, MORE_BYTES, nameOf, report, shorten, stateText, titleOf } from "./report.ts";
import { screenText } from "./screen.ts";
import { findOrStartShell, start } from "./shells.ts";
import { MAX_WAIT_S, type Until, until, type WaitBegin, waitFor, withProgress } from "./wait.ts";

const RUN_WAIT_S = 30;
const START_WAIT_S = 5;
/** Number of sessions listed, newest first, and the time to inspect each. */
const LISTED = 50;
const LIST_TIMEOUT_MS = 500;

type Tool = {
	readonly name: string;
	readonly description: string;
	readonly inputSchema: TObject;
	readonly annotations: Annotations;
	/** Rejects with a `SessionError`. */
	call(args: unknown, call: Call): Promise<string>;
};

type Annotations = {
	readonly readOnlyHint?: boolean;
	readonly destructiveHint?: boolean;
	readonly idempotentHint?: boolean;
	readonly openWorldHint?: boolean;
};

type Definition<Schema extends TObject> = Omit<Tool, "call" | "inputSchema"> & {
	readonly inputSchema: Schema;
	call(args: Type.Static<Schema>, call: Call): Promise<string>;
};

function tool<Schema extends TObject>({ call, ...rest }: Definition<Schema>): Tool {
	const validator = Compile(rest.inputSchema);
	return {
		...rest,
		async call(args, context) {
			if (validator.Check(args)) return call(args as Type.Static<Schema>, context);
			throw problemOf(rest.inputSchema, args);
		},
	};
}

const strict = { additionalProperties: false } as const;
const text = (description: string) => Type.String({ minLength: 1, maxLength: 65_536, description });
const name = (description: string) => Type.String({ minLength: 1, maxLength: 64, description });
const seconds = (otherwise: number) =>
	Type.Optional(Type.Number({ minimum: 0, maximum: MAX_WAIT_S, description: `seconds to wait, default ${otherwise}` }));
const session = name("its name or id");
const max = Type.Optional(
	Type.Integer({
		minimum: limits.minTextBytes,
		maximum: limits.maxTextBytes,
		description: `bytes of the answer, default ${limits.textBytes}`,
	}),
);
const actsOnWorld = { readOnlyHint: false, destructiveHint: true, openWorldHint: true } as const;

const run = tool({
	name: "run",
	description:
		"Run a command in a shell that stays: directory, variables and jobs are there for the next one. Answers when it has ended, waits for input, or the time is over; it goes on then, and read waits on.",
	annotations: actsOnWorld,
	inputSchema: Type.Object(
		{
			command: text("for the shell; several lines are fine"),
			session: Type.Optional(name("the shell's name; made on first use, default: one for this conversation")),
			cwd: Type.Optional(text("of a new shell only")),
			wait: seconds(RUN_WAIT_S),
			max,
		},
		strict,
	),
	async call({ command, session: wanted, cwd, wait = RUN_WAIT_S, max }, call) {
		const begun = performance.now();
		const { session: shell, replaces } = await findOrStartShell(wanted, cwd, call);
		const news = replaces && "a new shell: directory, variables and jobs of the last one are gone";
		call.beginReading(shell);
		// Exact in a shell with our hooks; in others, as far as it can be observed.
		const timeoutMs = wait * 1000;
		const running = shell.run({ command, timeoutMs, options: {} }, call.signal);
		const { status, why, exitCode, output } = await withProgress(shell, timeoutMs, running, call);
		const elapsedMs = performance.now() - begun;
		if (status === "busy") {
			const state = stateText(await programState(shell, call.signal, call.options.agents));
			return report(
				shell,
				{ outcome: `busy (${BUSY[why ?? "command"]}): nothing was run · ${state}`, news, max },
				call,
			);
		}
		const outcome = outcomeOf(status, exitCode);
		return report(shell, { outcome, news, elapsedMs, range: output, max, isAsking: true }, call);
	},
});

const BUSY: Readonly<Record<BusyReason, string>> = {
	command: "another command runs; send types into it",
	typed: "there is unfinished text at the prompt; send the key C-c to discard it",
	starting: "the shell is not at its prompt yet; a longer wait waits for it",
};

/** Undefined while it runs or waits: then the session's state is reported. */
function outcomeOf(status: RunStatus, exitCode: number | null): string | undefined {
	if (status === "ended") return `ended${exitCode === null ? "" : ` · exit ${exitCode}`}`;
	if (status === "incomplete") return "incomplete: nothing was run; the command has no end";
	if (status === "rejected") return "rejected: the shell did not run it";
	return undefined;
}

const startProgram = tool({
	name: "start",
	description:
		"Start a program in a session of its own: servers, REPLs, editors, long jobs. It goes on whatever becomes of this conversation.",
	annotations: actsOnWorld,
	inputSchema: Type.Object(
		{
			command: Type.Optional(text("a line for /bin/sh -c")),
			argv: Type.Optional(Type.Array(Type.String(), { minItems: 1, description: "or the program and its arguments" })),
			name: Type.Optional(name("to find it by")),
			cwd: Type.Optional(text("where")),
			env: Type.Optional(Type.Record(Type.String(), Type.String(), { description: "more variables" })),
			tty: Type.Optional(Type.Boolean({ description: "on a terminal, default true; else on pipes" })),
			wait: seconds(START_WAIT_S),
		},
		strict,
	),
	async call({ command, argv, name, cwd, env, tty = true, wait = START_WAIT_S }, call) {
		if ((argv === undefined) === (command === undefined)) {
			throw new SessionError("invalid_argument", "argv, command: exactly one of the two is required");
		}
		const mode = tty ? "pty" : "pipe";
		const started = await start({ argv: argv ?? ["/bin/sh", "-c", command ?? ""], name, cwd, env, mode }, call);
		call.beginReading(started);
		return waited(started, { from: 0, until: { ...DEFAULT_CAUSES, timeout_s: wait } }, call);
	},
});

const DEFAULT_CAUSES = { input: true, end: true, exit: true, idle_ms: 3000 };

const send = tool({
	name: "send",
	description:
		"Type text, then press keys, in a session; answers with what it wrote since. For a coding agent: a prompt, or an answer.",
	annotations: actsOnWorld,
	inputSchema: Type.Object(
		{
			session,
			text: Type.Optional(text("typed as it is, without Enter")),
			keys: Type.Optional(
				Type.Array(Type.String({ minLength: 1, maxLength: 40 }), {
					maxItems: 200,
					description: 'pressed after it: "Enter", "Up", "C-c", "Escape", "F1", "y"',
				}),
			),
			paste: Type.Optional(Type.Boolean({ description: "as one piece, for editors and shells" })),
			submit: Type.Optional(Type.Boolean({ description: "text is a prompt" })),
			dialog: Type.Optional(Type.Integer({ description: "its number, for choice or text" })),
			choice: Type.Optional(Type.String()),
			until: Type.Optional(until),
			max,
		},
		strict,
	),
	async call({ session: wanted, until, max, text, keys, paste, ...forAgent }, call) {
		const found = call.find(wanted, "operate");
		const isForAgent = Object.keys(forAgent).length > 0;
		if (text === undefined && keys === undefined && !isForAgent)
			throw new SessionError("invalid_argument", "text, keys: one is required");
		call.beginReading(found);
		const { offset: from } = await found.end();
		if (isForAgent) {
			if (keys !== undefined || paste !== undefined)
				throw new SessionError("invalid_argument", "keys, paste: not with submit, dialog or choice");
			await sendToAgent(found, { ...forAgent, ...(text === undefined ? {} : { text }) }, call);
			return waited(found, { from, until, max }, call);
		}
		const typed = await typeInto(
			found,
			{ ...(text && { text }), ...(keys && { keys }), ...(paste && { paste }) },
			call,
		);
		return waited(found, { from, typed, until, max }, call);
	},
});

const read = tool({
	name: "read",
	description:
		"Read a session. new: waits for output after since (default: now). output: what there is from since on (default: all; the middle of much is left out). screen: what its terminal shows. commands: what a shell ran.",
	annotations: { readOnlyHint: true, openWorldHint: false },
	inputSchema: Type.Object(
		{
			session,
			what: Type.Optional(
				Type.Union([Type.Literal("new"), Type.Literal("output"), Type.Literal("screen"), Type.Literal("commands")]),
			),
			since: Type.Optional(
				Type.Integer({
					minimum: 0,
					description: "a byte offset, as answers name them; screen: a revision, to get what changed",
				}),
			),
			at: Type.Optional(Type.Integer({ minimum: 0, description: "screen, commands: as of this byte offset" })),
			limit: Type.Optional(Type.Integer({ minimum: 1, description: "output: bytes from since on" })),
			until: Type.Optional(until),
			max,
		},
		strict,
	),
	async call({ session: wanted, what = "new", since, at: past, limit, until, max }, call) {
		const found = call.find(wanted, "read");
		call.beginReading(found);
		const { oldest, end } = (await found.info()).offsets;
		const at = past === undefined ? undefined : Math.min(past, end);
		if (at !== undefined && until) {
			throw new SessionError("invalid_argument", "until: cannot wait at a past byte offset (at)", {
				hint: "omit at or until",
			});
		}
		const from = Math.min(Math.max(since ?? (what === "new" ? end : oldest), oldest), end);
		if (what === "new") return waited(found, { from, until, max }, call);
		// Only new events end the wait, unless `since` says how far the caller has read.
		const begun = performance.now();
		const first = what === "output" && since !== undefined ? from : end;
		const cause = until && (await waitFor(found, { from: first }, until, call));
		const elapsedMs = cause && performance.now() - begun;
		const ending = { outcome: await outcomeAfter(cause, found, first), elapsedMs };
		if (what === "screen") {
			return report(found, { ...ending, text: await screenText(found, { at, since }, call), max }, call);
		}
		if (what === "commands") return report(found, { ...ending, text: await commandsText(found, at), max }, call);
		const { offset: now } = await found.end();
		const to = Math.min(now, from + (limit ?? Number.MAX_SAFE_INTEGER));
		return report(found, { ...ending, range: { from, to }, max }, call);
	},
});

const sessions = tool({
	name: "sessions",
	description: "List sessions: name, what each program does or asks, directory.",
	annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
	inputSchema: Type.Object({ all: Type.Optional(Type.Boolean({ description: "those that have ended, too" })) }, strict),
	async call({ all = false }, call) {
		const known = call.readable().filter(({ state }) => all || !isEnded(state));
		if (known.length === 0) return all ? "there are no sessions" : "no session is running";
		call.reserve(limits.textBytes);
		const lines = await Promise.all(known.slice(-LISTED).map((one) => lineOf(one, call)));
		return newest(lines.map(redact), known.length);
	},
});

const stop = tool({
	name: "stop",
	description: "End a session's program and all it started; its output can still be read.",
	annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
	inputSchema: Type.Object(
		{
			session,
			signal: Type.Optional(name("instead only send this signal, such as INT")),
			forget: Type.Optional(Type.Boolean({ description: "delete its output, too" })),
		},
		strict,
	),
	async call({ session: wanted, signal, forget = false }, call) {
		const found = call.find(wanted, signal === undefined ? "manage" : "operate");
		if (signal !== undefined) {
			await found.act({ kind: "signal", signal: parseSignal(signal), urgent: true });
			return report(found, { outcome: `sent ${parseSignal(signal)}` }, call);
		}
		const by = call.principal.name;
		if (forget) {
			await call.witness.remove(call.options.sessions, found, { by });
			return `[forgotten · ${nameOf(found, call)}]`;
		}
		if (!isEnded(found.state)) await found.kill({ reason: "killed", by });
		return report(found, {}, call);
	},
});

export const tools: readonly Tool[] = [run, startProgram, send, read, sessions, stop];

type Waited = WaitBegin & {
	readonly until?: Until | undefined;
	readonly max?: number | undefined;
};

/** Waits, then reports the output since `from`. */
async function waited(session: Session, { from, typed, until, max }: Waited, call: Call): Promise<string> {
	const begun = performance.now();
	const cause = await waitFor(session, { from, typed }, until, call);
	const elapsedMs = performance.now() - begun;
	const { offset: to } = await session.end();
	const outcome = await outcomeAfter(cause, session, from);
	return report(session, { outcome, elapsedMs, range: { from, to }, max, isAsking: true }, call);
}

/** Continues a call that asked for a secret, after it was entered or declined. */
export async function resumeAfterSecret(
	{ session: wanted, from, isDeclined }: PendingSecret & { readonly isDeclined: boolean },
	{ max }: { readonly max?: unknown },
	call: Call,
): Promise<string> {
	const session = call.find(wanted, "read");
	call.beginReading(session);
	const budget = typeof max === "number" ? max : undefined;
	if (!isDeclined) return waited(session, { from, max: budget }, call);
	const { offset: to } = await session.end();
	return report(session, { news: "the person declined to enter it", range: { from, to }, max: budget }, call);
}

/** The outcome of a wait, if it says more than the session's state. */
async function outcomeAfter(
	cause: WaitOutcome | undefined,
	session: Session,
	from: number,
): Promise<string | undefined> {
	if (cause === "match") return "matched";
	if (cause !== "end") return undefined;
	// The exit code, if the shell reports it.
	const { commands, isProven } = await commandsOf(session);
	const last = commands.at(-1);
	if (!isProven || !last || last.to === null || last.to <= from) return undefined;
	return outcomeOf("ended", last.exitCode);
}

/** Newest first, so that cutting removes the oldest. With `at`, the state at that offset. */
async function commandsText(session: Session, at = Number.POSITIVE_INFINITY): Promise<string> {
	const known = (await commandsOf(session)).commands.filter(({ from }) => from <= at);
	if (known.length === 0) return "no command is known";
	const lines = known.map(({ command, exitCode, from, to, cwd }) => {
		const isOver = to !== null && to <= at;
		const ending = isOver ? `exit ${exitCode ?? "unknown"}` : "running";
		return `${shorten(command ?? "?", 120)} · ${ending} · bytes ${from}–${isOver ? to : ""} · ${shorten(cwd ?? "", 80)}`;
	});
	return lines.reverse().join("\n");
}

async function commandsOf(session: Session): Promise<ShellCommands> {
	try {
		return await session.commands();
	} catch (error) {
		if (error instanceof SessionError && error.code === "unsupported") return { commands: [], isProven: false };
		throw error;
	}
}

/** The last lines that fit, and the number of omitted ones. */
function newest(lines: readonly string[], count: number): string {
	let listed = lines.length;
	const textOf = () => lines.slice(lines.length - listed).join("\n");
	while (Buffer.byteLength(textOf()) > limits.textBytes - MORE_BYTES) listed--;
	return listed === count ? textOf() : `[${count - listed} older sessions not listed]\n${textOf()}`;
}

async function lineOf(session: Session, call: Call): Promise<string> {
	if (isEnded(session.state)) return `${titleOf(session, call)} · ${endText(session)}`;
	try {
		// An unresponsive keeper does not react to the signal, so the wait itself is limited.
		const state = await withDeadline(LIST_TIMEOUT_MS, [call.signal], (over) =>
			Promise.race([programState(session, over, call.options.agents), rejected(over)]),
		);
		const where = state.cwd === null ? "" : ` · ${shorten(state.cwd, 80)}`;
		return `${titleOf(session, call)} · ${stateText(state)}${where}`;
	} catch {
		return `${titleOf(session, call)} · running; its state is unknown`;
	}
}

function rejected(signal: AbortSignal): Promise<never> {
	return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}
