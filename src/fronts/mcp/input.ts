/** Typing: text and keys as the bytes of a terminal, whole and in order, or not at all. */

import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session.ts";
import { encodeKey } from "../../protocol/keys.ts";
import { typeParts } from "../typing.ts";
import type { Call } from "./call.ts";

const BRACKETED_PASTE = "2004";
const PASTE_BEGIN = "\u001b[200~";
const PASTE_END = "\u001b[201~";

export type Typed = { readonly text?: string; readonly keys?: readonly string[]; readonly paste?: boolean };

/** Types the text, then presses the keys. */
export async function typeInto(
	session: Session,
	{ text = "", keys = [], paste = false }: Typed,
	{ options, signal }: Call,
): Promise<void> {
	const isPaste = paste && text !== "" && (await takesPastes(session));
	const marked = isPaste ? PASTE_BEGIN + text.replaceAll(PASTE_END, "") + PASTE_END : text;
	const parts = [Buffer.from(asTyped(marked, session)), Buffer.concat(keys.map(encoded))];
	const stream = options.newUuid();
	try {
		await typeParts(session, parts, { origin: { stream, position: 0 }, signal });
	} finally {
		// Nobody else knows its name. Should this fail, it is forgotten with time.
		session.forgetStream(stream).catch(() => {});
	}
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
