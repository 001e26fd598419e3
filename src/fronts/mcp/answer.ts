/** What a tool answers: one line about the session, then what it wrote, as small text within a budget. */

import type { Exit } from "../../core/event.ts";
import type { Session } from "../../core/session.ts";
import { isEnded } from "../../core/state.ts";
import type { ProgramState } from "../../protocol/feed.ts";
import { limits } from "../../protocol/messages.ts";
import { programState } from "../program-state.ts";
import { redacted } from "../redaction.ts";
import { controlSince, takeoverLine } from "../takeover.ts";
import { readText } from "../text.ts";
import type { Call } from "./call.ts";
import { askForSecret, wayOf } from "./secret.ts";

/** What of the budget the line about the session may take, in bytes. */
const HEAD_BYTES = 300;
/** More than what says that there are more lines takes. */
export const MORE_BYTES = 60;
/** Of those who had control meanwhile, the last are told, in some 60 bytes each. */
const MOST_TAKEOVERS = 2;
/** A question is repeated up to here, a name or a directory up to there; in UTF-16 units. */
const QUESTION_LENGTH = 120;
const NAME_LENGTH = 80;

export type Range = { readonly from: number; readonly to: number };

type Report = {
	/** Comes before what the session itself has to say. */
	readonly outcome?: string | undefined;
	/** Whatever else is to be known of the session. */
	readonly news?: string | undefined;
	readonly elapsedMs?: number | undefined;
	/** Of the output, to be shown. */
	readonly range?: Range | undefined;
	/** Instead of output; its first lines are told if all of it is too long. */
	readonly text?: string | undefined;
	/** In bytes, of all of it. */
	readonly max?: number | undefined;
	/** Whether a person is asked for a secret that the program reads. */
	readonly isAsking?: boolean;
};

/** All of it is within the budget, whatever the session wrote. */
export async function report(
	session: Session,
	{ outcome, news, elapsedMs, range, text, max, isAsking = false }: Report,
	call: Call,
): Promise<string> {
	const budget = Math.max(limits.minTextBytes, Math.min(max ?? limits.textBytes, limits.maxTextBytes));
	call.reserve(budget);
	const { end } = (await session.info()).offsets;
	const state = isEnded(session.state) ? undefined : await programState(session, call.signal);
	// The end of its output may still be to come.
	const isOver = state === undefined || state.state === "ended";
	// What an agent types, its model has seen.
	const isSecret = state?.state === "waiting" && state.kind === "secret";
	const asked = isSecret && isAsking ? await askForSecret(session, range?.from ?? end, call) : undefined;
	const command = `hawser secret ${nameOf(session, call)}`;
	const facts = [
		outcome ?? (state ? wordsOf(state) : endingOf(session)),
		outcome !== undefined && isOver ? `the session is over: ${endingOf(session)}` : undefined,
		news,
		isSecret ? wayOf(asked, command, call) : undefined,
		elapsedMs === undefined ? undefined : `${(elapsedMs / 1000).toFixed(1)} s`,
		nameOf(session, call),
		range ? `bytes ${range.from}–${range.to} of ${end}` : undefined,
		state?.cwd ? shorten(state.cwd, NAME_LENGTH) : undefined,
	];
	// Keys and tokens are taken out first: what stands for them may be longer, and half of one is not known for what it is.
	const head = cut(redacted(`[${facts.filter((fact) => fact !== undefined).join(" · ")}]`), HEAD_BYTES);
	const intro = [head, ...(await takeoverLines(session, call))].join("\n");
	const left = budget - Buffer.byteLength(intro) - 1;
	const body = text === undefined ? await outputText(session, range, left, call) : firstLines(redacted(text), left);
	return body === "" ? intro : `${intro}\n${body}`;
}

/** What people did with the session since the last call of this conversation. */
async function takeoverLines(session: Session, { options, conversation }: Call): Promise<string[]> {
	const { takeovers } = await controlSince(session, conversation, options.newUuid());
	return takeovers.slice(-MOST_TAKEOVERS).map(takeoverLine);
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

/** A session, as a call names it. */
export function nameOf(session: Session, call: Call): string {
	const { id, spec } = session;
	return shorten((call.isOwn(session) ? spec.name : undefined) ?? id, NAME_LENGTH);
}

/** The same for a list, in which those of other workspaces have a name, too. */
export function titleOf(session: Session, call: Call): string {
	const { name, workspace } = session.spec;
	if (call.isOwn(session)) return nameOf(session, call);
	return `${session.id} (${shorten(name ?? "no name", NAME_LENGTH)}, in ${workspace})`;
}

/** How a session that is over has ended. */
export function endingOf({ state }: Session): string {
	if (state.status === "lost") return "lost: nobody knows how it ended";
	return `exited · ${exitOf(state.exit)}`;
}

function exitOf(exit: Exit | null): string {
	if (!exit) return "exit unknown";
	const why = exit.reason === undefined ? "" : ` (${exit.reason})`;
	return exit.signal ? `signal ${exit.signal}${why}` : `exit ${exit.code}${why}`;
}

/** What its program does, in a few words and with the question that it asks. */
export function wordsOf(state: ProgramState): string {
	const { program, lastLine } = state;
	const who = program === null ? undefined : shorten(program, NAME_LENGTH);
	const question = state.state === "waiting" && lastLine !== "" ? `"${endOf(lastLine, QUESTION_LENGTH)}"` : undefined;
	return [doingOf(state), who, question].filter((part) => part !== undefined).join(" · ");
}

function doingOf({ state, kind, confidence }: ProgramState): string {
	switch (state) {
		case "waiting":
			if (kind === "reply") return "waiting for its terminal's reply";
			// Who edits lines itself listens for keys, and not for keys alone.
			if (kind === "key" && confidence === "likely") return "waiting for a key, or a line that it edits";
			return `waiting for a ${kind}${confidence === "guess" ? ", by the look of it" : ""}`;
		case "prompt":
			return "at its prompt";
		case "tui":
			return "full screen, waiting for keys";
		case "listening":
			return "running, takes input";
		case "flow-stopped":
			return kind === "key" ? "stopped by Ctrl-S; Ctrl-Q lets it go on" : "running, its output is not read";
		case "stopped":
			return "stopped; signal CONT lets it go on";
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

/** The same of its end, where a question is. */
function endOf(text: string, length: number): string {
	const line = oneLine(text);
	return line.length <= length ? line : `…${line.slice(1 - length)}`;
}

function oneLine(text: string): string {
	return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
}

/** As many lines as fit, and how many there are besides. */
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

/** The first so many bytes of a text, of whole characters. */
function cut(text: string, bytes: number): string {
	if (Buffer.byteLength(text) <= bytes) return text;
	const kept = Buffer.from(text).subarray(0, bytes - 4);
	return `${new TextDecoder().decode(kept, { stream: true })}…`;
}
