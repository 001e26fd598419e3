/** The six tools. Each call pays for their descriptions in tokens, so these are short, and there are no more. */

import Type, { type TObject } from "typebox";
import { Compile } from "typebox/compile";
import { SessionError } from "../../core/errors.ts";
import type { RunStatus } from "../../core/run.ts";
import type { Session, ShellCommands } from "../../core/session.ts";
import { parseSignal } from "../../core/signals.ts";
import { isEnded } from "../../core/state.ts";
import { within } from "../../core/within.ts";
import { limits } from "../../protocol/messages.ts";
import { programState } from "../program-state.ts";
import { redacted } from "../redaction.ts";
import { problemOf } from "../validation.ts";
import { endingOf, MORE_BYTES, nameOf, report, shorten, titleOf, wordsOf } from "./answer.ts";
import type { Asked, Call } from "./call.ts";
import { typeInto } from "./input.ts";
import { runCommand } from "./run.ts";
import { screenText } from "./screen.ts";
import { shellOf, start } from "./shell.ts";
import { MAX_WAIT_S, until, waitFor } from "./wait.ts";

const RUN_WAIT_S = 30;
const START_WAIT_S = 5;
/** How many sessions are listed, the newest; and how long one may take to say what it does. */
const LISTED = 50;
const LIST_PATIENCE_MS = 500;

type Tool = {
	readonly name: string;
	readonly description: string;
	readonly inputSchema: TObject;
	readonly annotations: Annotations;
	/** Rejects with a `SessionError` what can't be had. */
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
			throw problemOf(rest.inputSchema, validator.Errors(args), args);
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
		const { session: shell, replaces } = await shellOf(wanted, cwd, call);
		const news = replaces && "a new shell: directory, variables and jobs of the last one are gone";
		call.beginReading(shell);
		const { status, exitCode, output } = await runCommand(shell, command, wait, call);
		const elapsedMs = performance.now() - begun;
		if (status === "busy") {
			const state = wordsOf(await programState(shell, call.signal));
			return report(shell, { outcome: `busy: nothing was run · ${state}`, news, max }, call);
		}
		const outcome = outcomeOf(status, exitCode);
		return report(shell, { outcome, news, elapsedMs, range: output, max, isAsking: true }, call);
	},
});

/** Of what runs or waits the session itself says how it is. */
function outcomeOf(status: RunStatus, exitCode: number | null): string | undefined {
	if (status === "ended") return `ended${exitCode === null ? "" : ` · exit ${exitCode}`}`;
	if (status === "incomplete") return "incomplete: nothing was run, for the command has no end";
	if (status === "rejected") return "rejected: the shell would not run it";
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
	description: "Type text, then press keys, in a session; answers with what it wrote since.",
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
			paste: Type.Optional(
				Type.Boolean({ description: "the text is pasted: editors and shells take it as one piece" }),
			),
			until: Type.Optional(until),
			max,
		},
		strict,
	),
	async call({ session: wanted, until, max, text, keys, paste }, call) {
		const found = call.find(wanted, "operate");
		if (text === undefined && keys === undefined)
			throw new SessionError("invalid_argument", "text, keys: one is required");
		call.beginReading(found);
		const { offset: from } = await found.end();
		await typeInto(found, { ...(text && { text }), ...(keys && { keys }), ...(paste && { paste }) }, call);
		return waited(found, { from, until, max }, call);
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
		if (what === "screen") {
			if (until) await waitFor(found, end, until, call);
			return report(found, { text: await screenText(found, { at, since }, call), max }, call);
		}
		if (what === "commands") return report(found, { text: await commandsText(found, at), max }, call);
		const from = Math.min(Math.max(since ?? (what === "new" ? end : oldest), oldest), end);
		if (what === "new") return waited(found, { from, until, max }, call);
		const to = Math.min(end, from + (limit ?? Number.MAX_SAFE_INTEGER));
		return report(found, { range: { from, to }, max }, call);
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
		return newest(lines.map(redacted), known.length);
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

type Waited = {
	readonly from: number;
	readonly until?: Parameters<typeof waitFor>[2];
	readonly max?: number | undefined;
};

/** Waits, and tells what came meanwhile. */
async function waited(session: Session, { from, until, max }: Waited, call: Call): Promise<string> {
	const begun = performance.now();
	const cause = await waitFor(session, from, until, call);
	const elapsedMs = performance.now() - begun;
	const { offset: to } = await session.end();
	const outcome = cause === "match" ? "matched" : cause === "end" ? await lastOutcome(session, from) : undefined;
	return report(session, { outcome, elapsedMs, range: { from, to }, max, isAsking: true }, call);
}

/** What a call was to tell that asked for a secret, once that was given; or that it won't be. */
export async function goOn(
	{ session: wanted, from, isDeclined }: Asked & { readonly isDeclined: boolean },
	{ max }: { readonly max?: unknown },
	call: Call,
): Promise<string> {
	const session = call.find(wanted, "read");
	call.beginReading(session);
	const budget = typeof max === "number" ? max : undefined;
	if (!isDeclined) return waited(session, { from, max: budget }, call);
	const { offset: to } = await session.end();
	return report(session, { news: "the person would not enter it", range: { from, to }, max: budget }, call);
}

/** How the command ended that was waited for, where the shell told it. */
async function lastOutcome(session: Session, from: number): Promise<string | undefined> {
	const { commands, isProven } = await commandsOf(session);
	const last = commands.at(-1);
	if (!isProven || !last || last.to === null || last.to <= from) return undefined;
	return outcomeOf("ended", last.exitCode);
}

/** The newest first, so that what is cut off is what was long ago; as they were when the output ended at an offset. */
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

/** The last lines that fit an answer, and how many there are besides. */
function newest(lines: readonly string[], count: number): string {
	let listed = lines.length;
	const textOf = () => lines.slice(lines.length - listed).join("\n");
	while (Buffer.byteLength(textOf()) > limits.textBytes - MORE_BYTES) listed--;
	return listed === count ? textOf() : `[${count - listed} older ones are not listed]\n${textOf()}`;
}

async function lineOf(session: Session, call: Call): Promise<string> {
	if (isEnded(session.state)) return `${titleOf(session, call)} · ${endingOf(session)}`;
	try {
		// Whoever keeps it may not answer at all, and then the signal does not reach it either.
		const state = await within(LIST_PATIENCE_MS, [call.signal], (over) =>
			Promise.race([programState(session, over), rejected(over)]),
		);
		const where = state.cwd === null ? "" : ` · ${shorten(state.cwd, 80)}`;
		return `${titleOf(session, call)} · ${wordsOf(state)}${where}`;
	} catch {
		return `${titleOf(session, call)} · running, and does not say what it does`;
	}
}

function rejected(signal: AbortSignal): Promise<never> {
	return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}
