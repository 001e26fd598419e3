/** Typing: text and keys as the bytes of a terminal, whole and in order, or not at all. */

import { SessionError } from "../../core/errors.ts";
import { offer } from "../../core/offer.ts";
import type { Origin, Session } from "../../core/session.ts";
import { encodeKey } from "../../protocol/keys.ts";
import type { Call } from "./call.ts";

/** What the kernel takes of one line while a terminal edits lines itself; it drops the rest. */
const LONGEST_LINE_BYTES = 4095;
const BRACKETED_PASTE = "2004";
const PASTE_BEGIN = "\u001b[200~";
const PASTE_END = "\u001b[201~";

export type Typed = { readonly text?: string; readonly keys?: readonly string[]; readonly paste?: boolean };

/**
 * How long keys wait for the program to show the text. Many take what arrives in one piece for something pasted, and an
 * Enter in it for a new line rather than for "go".
 */
const REACTION_MS = 250;

/** Types the text, then presses the keys. */
export async function typeInto(
	session: Session,
	{ text = "", keys = [], paste = false }: Typed,
	call: Call,
): Promise<void> {
	const isPaste = paste && text !== "" && (await takesPastes(session));
	const marked = isPaste ? PASTE_BEGIN + text.replaceAll(PASTE_END, "") + PASTE_END : text;
	const typed = Buffer.from(asTyped(marked, session));
	const pressed = Buffer.concat(keys.map(encoded));
	await checkLines(session, typed);
	const stream = call.options.newUuid();
	try {
		const { offset } = await session.end();
		await write(session, typed, { stream, position: 0 }, call);
		if (typed.byteLength > 0 && pressed.byteLength > 0) await outputAfter(session, offset, call.signal);
		await write(session, pressed, { stream, position: typed.byteLength }, call);
	} finally {
		// Nobody else knows its name. Should this fail, it is forgotten with time.
		session.forgetStream(stream).catch(() => {});
	}
}

async function write(session: Session, bytes: Uint8Array, origin: Origin, { signal }: Call): Promise<void> {
	if (bytes.byteLength === 0) return;
	const { next } = await offer(session, { kind: "write", bytes }, { origin, until: "accepted", signal });
	const accepted = next - origin.position;
	if (accepted >= bytes.byteLength) return;
	const what = `only ${accepted} of ${bytes.byteLength} bytes were typed: nobody waited for the rest`;
	throw new SessionError("node_unavailable", what);
}

/** Resolves once there is output from an offset on, or it has taken too long. */
async function outputAfter(session: Session, offset: number, gone: AbortSignal): Promise<void> {
	const signal = AbortSignal.any([gone, AbortSignal.timeout(REACTION_MS)]);
	for await (const item of session.follow({ offset }, { signal, flow: "live" })) if (item.kind === "output") return;
}

/** Whether the program wants to know what is pasted, so that no line of it is run before the last. */
async function takesPastes(session: Session): Promise<boolean> {
	try {
		return (await session.scan()).modes[BRACKETED_PASTE] === true;
	} catch (error) {
		if (error instanceof SessionError && error.code === "unsupported") return false;
		throw error;
	}
}

/** On a terminal the key that ends a line is Enter. */
function asTyped(text: string, { spec }: Session): string {
	return spec.mode === "pty" ? text.replaceAll(/\r?\n/g, "\r") : text;
}

function encoded(key: string, index: number): Uint8Array {
	const bytes = encodeKey(key);
	if (bytes) return bytes;
	throw new SessionError("invalid_argument", `keys.${index}: unknown key ${JSON.stringify(key.slice(0, 60))}`, {
		hint: "a name such as Enter, Tab, Up or C-c; text goes into text",
	});
}

async function checkLines(session: Session, bytes: Uint8Array): Promise<void> {
	if (bytes.byteLength <= LONGEST_LINE_BYTES || session.spec.mode !== "pty") return;
	const { terminal } = await session.info();
	const longest = Math.max(
		...Buffer.from(bytes)
			.toString("latin1")
			.split(/[\r\n]/)
			.map(({ length }) => length),
	);
	if (!terminal?.canonical || longest <= LONGEST_LINE_BYTES) return;
	throw new SessionError(
		"invalid_argument",
		`a line of ${longest} bytes is more than this terminal takes: ${LONGEST_LINE_BYTES}; nothing was typed`,
		{ hint: "write it into a file, and let the program read that" },
	);
}
