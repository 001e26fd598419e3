/** Typing into a session for who waits for what comes of it: whole and in order, or not at all. */

import type { ActOptions, Origin } from "../core/act.ts";
import { SessionError } from "../core/errors.ts";
import { INPUT_WINDOW_BYTES } from "../core/input.ts";
import { LONGEST_LINE_BYTES, longestLine } from "../core/line-mode.ts";
import { offer } from "../core/offer.ts";
import type { Session } from "../core/session.ts";
import { within } from "../core/within.ts";

/**
 * How long the second part waits for the program to show the first. Many take what arrives in one piece for something
 * pasted, and an Enter in it for a new line rather than for "go".
 */
const REACTION_MS = 250;

const BRACKETED_PASTES = "2004";
const PASTE_BEGIN = "\u001b[200~";
const PASTE_END = "\u001b[201~";

export type Typing = {
	/** Where it begins; a repeat from there types nothing again. */
	readonly origin: Origin;
	/** The lease under which it is typed. */
	readonly fence?: number | undefined;
	readonly signal: AbortSignal;
};

export type Typed = {
	/** Where the output ended before any of it, however often it is repeated. */
	readonly from: number;
	/** How far the input stream is. */
	readonly next: number;
};

/**
 * A text as a terminal pastes it, before `keys` that follow: each newline is Enter, and all of it stands between marks if
 * the program asks for them, so that no line of it is run before the last.
 */
export async function pasted(session: Session, text: string, keys: Uint8Array, at: Origin): Promise<string> {
	// What would end the paste early is not part of any text.
	const plain = withEnter(text.replaceAll(PASTE_END, ""), session);
	const marked = PASTE_BEGIN + plain + PASTE_END;
	if (plain === "") return plain;
	// A repeat is what it was at first, whatever the program asks for by now: its length tells.
	const typed = (await session.receipt(at.stream)).next - at.position - keys.byteLength;
	if (typed === Buffer.byteLength(plain)) return plain;
	if (typed === Buffer.byteLength(marked)) return marked;
	return (await takesPastes(session)) ? marked : plain;
}

/** On a terminal the key that ends a line is Enter. */
export function withEnter(text: string, { spec }: Session): string {
	return spec.mode === "pty" ? text.replaceAll(/\r?\n/g, "\r") : text;
}

/** Whether the program wants to know what is pasted. */
async function takesPastes(session: Session): Promise<boolean> {
	try {
		return (await session.scan()).modes[BRACKETED_PASTES] === true;
	} catch (error) {
		if (error instanceof SessionError && error.code === "unsupported") return false;
		throw error;
	}
}

/** Types one part after the other, such as text and the keys after it. */
export async function typeParts(session: Session, parts: readonly Uint8Array[], typing: Typing): Promise<Typed> {
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
		// Keepers that are older do not say it.
		from ??= first.from ?? end;
		const begun = position;
		position += part.byteLength;
		// Not offered again if all of it was taken: that may have ended the program, which takes no more.
		if (first.next >= position) continue;
		const offered = { origin: { stream, position: begun }, fence, until: "accepted", signal } as const;
		const { next } = await offer(typist, { kind: "write", bytes: part }, offered);
		if (next < position) throw interrupted(next - begun, part.byteLength);
	}
	return { from: from ?? end, next: position };
}

/** Refuses a line that the terminal would cut off, before anything is typed. What was typed before is not judged again. */
async function checkLines(session: Session, bytes: Uint8Array, { stream, position }: Origin): Promise<void> {
	const longest = longestLine(bytes);
	if (longest <= LONGEST_LINE_BYTES || session.spec.mode !== "pty") return;
	const { terminal } = await session.info();
	if (!terminal?.canonical || (await session.receipt(stream)).next > position) return;
	const limit = LONGEST_LINE_BYTES.toLocaleString("en");
	const what = `a line of ${longest.toLocaleString("en")} bytes is more than this terminal takes: ${limit}`;
	throw new SessionError("invalid_argument", `${what}; nothing was typed`, {
		hint: "write it into a file, and let the program read that",
	});
}

/** Resolves when the program has shown something of what was typed, or did not for a while. */
async function outputAfter(session: Session, offset: number, gone: AbortSignal): Promise<void> {
	await within(REACTION_MS, [gone], async (signal) => {
		for await (const item of session.follow({ offset }, { signal, flow: "live" })) if (item.kind === "output") return;
	});
}

/** Nobody waits for the rest. */
export function interrupted(accepted: number, total: number): SessionError {
	return new SessionError(
		"node_unavailable",
		`the server is shutting down; ${accepted} of ${total} bytes were accepted`,
		{
			hint: "with an Idempotency-Key the same request can be sent again",
		},
	);
}
