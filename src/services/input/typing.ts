/** Types into a session completely and in order, or not at all. */

import { withDeadline } from "../../core/async/deadline.ts";
import { SessionError } from "../../core/errors.ts";
import type { ActOptions, StreamPosition } from "../../core/input/action.ts";
import { INPUT_WINDOW_BYTES } from "../../core/input/input-queue.ts";
import { longestLine, MAX_TERMINAL_LINE_BYTES } from "../../core/input/line-limit.ts";
import { sendInParts } from "../../core/session/send-input.ts";
import type { Session } from "../../core/session/session.ts";

/**
 * Time that the program gets to show the first part before the second is typed. Many programs treat input that arrives
 * at once as a paste, in which Enter is a newline rather than a command to run.
 */
const REACTION_MS = 250;

const BRACKETED_PASTES = "2004";
const PASTE_BEGIN = "\u001b[200~";
const PASTE_END = "\u001b[201~";
/** Each run of ESC before an end marker's rest: of two, the second would form a marker with the first removed. */
const PASTE_ENDS = /\u001b+(?=\[201~)/g;

type TypingOptions = {
	/** Position in the input stream. A repeat from the same position types nothing again. */
	readonly origin: StreamPosition;
	/** Fence of the lease under which it types. */
	readonly fence?: number | undefined;
	readonly signal: AbortSignal;
};

type TypingResult = {
	/** Output offset before the first byte was typed, also for a repeat. */
	readonly from: number;
	/** Next position of the input stream. */
	readonly next: number;
};

/**
 * Pastes a text before `keys`, as a terminal does: newlines become Enter. If the program supports bracketed paste, the
 * text is marked, so that a shell does not run its lines one by one.
 */
export async function pasteText(session: Session, text: string, keys: Uint8Array, at: StreamPosition): Promise<string> {
	const plain = newlinesToEnter(withoutPasteEnds(text), session);
	const marked = PASTE_BEGIN + plain + PASTE_END;
	if (plain === "") return plain;
	// A repeat must type the same bytes even if the program's mode has changed. The typed length shows which form it was.
	const typed = (await session.receipt(at.stream)).next - at.position - keys.byteLength;
	if (typed === Buffer.byteLength(plain)) return plain;
	if (typed === Buffer.byteLength(marked)) return marked;
	return (await takesPastes(session)) ? marked : plain;
}

/**
 * An end marker within the text would end the paste early. Only its ESC goes: without the whole marker, the text around
 * it could form another one.
 */
export function withoutPasteEnds(text: string): string {
	return text.replaceAll(PASTE_ENDS, "");
}

/** On a terminal, Enter ends a line. */
export function newlinesToEnter(text: string, { spec }: Session): string {
	return spec.mode === "pty" ? text.replaceAll(/\r?\n/g, "\r") : text;
}

/** Whether the program has enabled bracketed paste. */
async function takesPastes(session: Session): Promise<boolean> {
	try {
		return (await session.scan()).modes[BRACKETED_PASTES] === true;
	} catch (error) {
		if (error instanceof SessionError && error.code === "unsupported") return false;
		throw error;
	}
}

/** Types parts one after another, such as text and the keys after it. */
export async function typeInOrder(
	session: Session,
	parts: readonly Uint8Array[],
	typing: TypingOptions,
): Promise<TypingResult> {
	const { origin, fence, signal } = typing;
	const { stream } = origin;
	const { offset: end } = await session.end();
	const bytes = Buffer.concat(parts);
	await checkLines(session, bytes, origin);
	const typist = session.inParts({ bytes, origin });
	let { position } = origin;
	let from: number | undefined;
	for (const part of parts.filter(({ byteLength }) => byteLength > 0)) {
		if (from !== undefined) await outputAfter(session, from, signal);
		const options: ActOptions = { origin: { stream, position }, ...(fence === undefined ? {} : { fence }) };
		const first = await typist.act({ kind: "write", bytes: part.subarray(0, INPUT_WINDOW_BYTES) }, options);
		// Older keepers do not report it.
		from ??= first.from ?? end;
		const begun = position;
		position += part.byteLength;
		// A part that was accepted completely is not sent again: it may have ended the program.
		if (first.next >= position) continue;
		const offered = { origin: { stream, position: begun }, fence, until: "accepted", signal } as const;
		const { next } = await sendInParts(typist, { kind: "write", bytes: part }, offered);
		if (next < position) throw partlyAcceptedError(next - begun, part.byteLength);
	}
	return { from: from ?? end, next: position };
}

/** Refuses a line that the terminal would truncate, before anything is typed. A repeat is not checked again. */
async function checkLines(session: Session, bytes: Uint8Array, { stream, position }: StreamPosition): Promise<void> {
	const longest = longestLine(bytes);
	if (longest <= MAX_TERMINAL_LINE_BYTES || session.spec.mode !== "pty") return;
	const { terminal } = await session.info();
	if (!terminal?.canonical || (await session.receipt(stream)).next > position) return;
	const limit = MAX_TERMINAL_LINE_BYTES.toLocaleString("en");
	const what = `a line of ${longest.toLocaleString("en")} bytes exceeds the limit of this terminal (${limit} bytes)`;
	throw new SessionError("invalid_argument", `${what}; nothing was typed`, {
		hint: "write it to a file, and let the program read the file",
	});
}

/** Resolves when the program has written output, or after a timeout. */
async function outputAfter(session: Session, offset: number, gone: AbortSignal): Promise<void> {
	await withDeadline(REACTION_MS, [gone], async (signal) => {
		for await (const item of session.follow({ offset }, { signal, flow: "live" })) if (item.kind === "output") return;
	});
}

/** The server shuts down before the rest is typed. */
export function partlyAcceptedError(accepted: number, total: number): SessionError {
	return new SessionError(
		"node_unavailable",
		`the server is shutting down; ${accepted} of ${total} bytes were accepted`,
		{
			hint: "send the same request again, with an Idempotency-Key",
		},
	);
}
