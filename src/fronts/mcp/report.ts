/** The answer of a tool: a line about the session, then its output as compact text within a budget. */

import { limits } from "../../api/messages.ts";
import type { AgentMessage, ProgramState } from "../../api/types.ts";
import { isEnded } from "../../core/log/session-state.ts";
import type { Session } from "../../core/session/session.ts";
import type { Takeover } from "../../core/session/takeovers.ts";
import { programState } from "../../services/attention/program-state.ts";
import { redact } from "../../services/reading/redaction.ts";
import { readText } from "../../services/reading/text.ts";
import type { Exit } from "../../words/state.ts";
import type { Call } from "./call.ts";
import { askForSecret, howToEnter } from "./secrets.ts";

/** Most bytes of the line about the session. */
const HEAD_BYTES = 300;
/** More than the note about omitted lines needs. */
export const MORE_BYTES = 60;
/** Takeovers reported per answer; each takes about 60 bytes. */
const MOST_TAKEOVERS = 2;
/** Longest shown question, and longest shown name or directory, in UTF-16 units. */
const QUESTION_LENGTH = 120;
const NAME_LENGTH = 80;

type Range = { readonly from: number; readonly to: number };

type Report = {
	/** Shown before the session's own state. */
	readonly outcome?: string | undefined;
	/** Anything else to report about the session. */
	readonly news?: string | undefined;
	readonly elapsedMs?: number | undefined;
	/** Output to show. */
	readonly range?: Range | undefined;
	/** Shown instead of output; cut to its first lines if too long. */
	readonly text?: string | undefined;
	/** Budget of the whole answer in bytes. */
	readonly max?: number | undefined;
	/** Whether to ask a person for a secret that the program reads. */
	readonly isAsking?: boolean;
};

/** The answer never exceeds the budget, whatever the session wrote. */
export async function report(
	session: Session,
	{ outcome, news, elapsedMs, range, text, max, isAsking = false }: Report,
	call: Call,
): Promise<string> {
	const budget = Math.max(limits.minTextBytes, Math.min(max ?? limits.textBytes, limits.maxTextBytes));
	call.reserve(budget);
	const state = isEnded(session.state) ? undefined : await programState(session, call.signal, call.options.agents);
	// After the state, so that an ended session reports its final offset.
	const { end } = (await session.info()).offsets;
	// An ended program's output may still be incomplete.
	const isOver = state === undefined || state.state === "ended";
	// A model sees what its agent types, so a person must enter the secret.
	const isSecret = state?.state === "waiting" && state.kind === "secret";
	const asked = isSecret && isAsking ? await askForSecret(session, range?.from ?? end, call) : undefined;
	const command = `hawser secret ${nameOf(session, call)}`;
	const facts = [
		outcome ?? (state ? stateText(state) : endText(session)),
		outcome !== undefined && isOver ? `the session is over: ${endText(session)}` : undefined,
		news,
		isSecret ? howToEnter(asked, command, call) : undefined,
		elapsedMs === undefined ? undefined : `${(elapsedMs / 1000).toFixed(1)} s`,
		nameOf(session, call),
		range ? `bytes ${range.from}–${range.to} of ${end}` : undefined,
		state?.cwd ? shorten(state.cwd, NAME_LENGTH) : undefined,
	];
	// Secrets are redacted before cutting: the replacement may be longer, and half a token would not be recognized.
	const head = cut(redact(`[${facts.filter((fact) => fact !== undefined).join(" · ")}]`), HEAD_BYTES);
	const intro = [head, ...(await takeoverLines(session, call))].join("\n");
	const left = budget - Buffer.byteLength(intro) - 1;
	const body = text === undefined ? await outputText(session, range, left, call) : firstLines(redact(text), left);
	return body === "" ? intro : `${intro}\n${body}`;
}

/** People's actions on the session since this conversation's last call. */
async function takeoverLines(session: Session, { options, conversation }: Call): Promise<string[]> {
	const { takeovers } = await session.controlChanges(conversation, options.newUuid());
	return takeovers.slice(-MOST_TAKEOVERS).map(takeoverLine);
}

export function takeoverLine({ from, to, commands }: Takeover): string {
	return `[a person had control: bytes ${from}–${to}, ${commands} ${commands === 1 ? "command" : "commands"}]`;
}

async function outputText(session: Session, range: Range | undefined, max: number, call: Call): Promise<string> {
	if (!range || range.to <= range.from) return "";
	const { signal, options } = call;
	const rows = session.state.size.rows;
	const { text } = await readText(
		session,
		{ ...range, max, rows, isRedacted: true },
		{ signal, screens: options.screens },
	);
	return cut(text, max);
}

/** The session's name or id, as a call would use it. */
export function nameOf(session: Session, call: Call): string {
	const { id, spec } = session;
	return shorten((call.isOwn(session) ? spec.name : undefined) ?? id, NAME_LENGTH);
}

/** The same for a list, which also shows names of other workspaces. */
export function titleOf(session: Session, call: Call): string {
	const { name, workspace } = session.spec;
	if (call.isOwn(session)) return nameOf(session, call);
	return `${session.id} (${shorten(name ?? "no name", NAME_LENGTH)}, in ${workspace})`;
}

/** The end of a session as text. */
export function endText({ state }: Session): string {
	if (state.status === "lost") return "lost: how it ended is unknown";
	return `exited · ${exitOf(state.exit)}`;
}

function exitOf(exit: Exit | null): string {
	if (!exit) return "exit unknown";
	const why = exit.reason === undefined ? "" : ` (${exit.reason})`;
	return exit.signal ? `signal ${exit.signal}${why}` : `exit ${exit.code}${why}`;
}

/** The state of a program in a few words, with the question it asks. */
export function stateText(state: ProgramState): string {
	if (state.agent) return agentText(state.agent);
	const { program, lastLine } = state;
	const who = program === null ? undefined : shorten(program, NAME_LENGTH);
	const question = state.state === "waiting" && lastLine !== "" ? `"${endOf(lastLine, QUESTION_LENGTH)}"` : undefined;
	return [doingOf(state), who, question].filter((part) => part !== undefined).join(" · ");
}

/** The dialog of an agent, with its command or diff. */
export function dialogText(agent: AgentMessage): string {
	return [agentText(agent), ...(agent.details === null ? [] : [agent.details])].join("\n");
}

function agentText({ app, state, kind, question, choices, children, episode }: AgentMessage): string {
	const working = children.filter((child) => child.state === "working" || child.state === "blocked").length;
	const parts = [
		state === "blocked" ? `blocked by ${kind === null ? "" : `${kind} `}dialog ${episode}` : state,
		shorten(app, NAME_LENGTH),
		question === null ? undefined : `"${endOf(question, QUESTION_LENGTH)}"`,
		choices.length === 0 ? undefined : choices.map(({ id, label }) => `${id} ${label}`).join(", "),
		working === 0 ? undefined : `${working} subagents at work`,
	];
	return parts.filter((part) => part !== undefined).join(" · ");
}

function doingOf({ state, kind, confidence }: ProgramState): string {
	switch (state) {
		case "waiting":
			if (kind === "reply") return "waiting for its terminal's reply";
			// A program with its own line editor reads single keys.
			if (kind === "key" && confidence === "likely") return "waiting for a key, or a line that it edits";
			return `waiting for a ${kind}${confidence === "guess" ? ", by the look of it" : ""}`;
		case "prompt":
			return "at its prompt";
		case "tui":
			return "full screen, waiting for keys";
		case "listening":
			return "running, takes input";
		case "flow-stopped":
			return kind === "key" ? "stopped by Ctrl-S; Ctrl-Q continues it" : "running, its output is not read";
		case "stopped":
			return "stopped; signal CONT continues it";
		case "busy":
			return "running, has not read its input";
		case "ended":
			return "exited";
		case "running":
		case "sleeping":
		case "disk":
		case "unknown":
			return "running";
		default:
			return state;
	}
}

export function shorten(text: string, length: number): string {
	const line = oneLine(text);
	return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
}

/** Shortens from the start, because a question is at the end. */
function endOf(text: string, length: number): string {
	const line = oneLine(text);
	return line.length <= length ? line : `…${line.slice(1 - length)}`;
}

function oneLine(text: string): string {
	return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
}

/** As many lines as fit, and the number of omitted ones. */
function firstLines(text: string, bytes: number): string {
	if (Buffer.byteLength(text) <= bytes) return text;
	const lines = text.split("\n");
	let room = bytes - MORE_BYTES;
	const firstLeftOut = lines.findIndex((line) => {
		room -= Buffer.byteLength(line) + 1;
		return room < 0;
	});
	const more = `[… ${lines.length - firstLeftOut} more lines, with a larger max]`;
	return [...lines.slice(0, firstLeftOut), more].join("\n");
}

/** Cuts a text to a number of bytes, at a character boundary. */
function cut(text: string, bytes: number): string {
	if (Buffer.byteLength(text) <= bytes) return text;
	const kept = Buffer.from(text).subarray(0, bytes - 4);
	return `${new TextDecoder().decode(kept, { stream: true })}…`;
}
