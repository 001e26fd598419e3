/** Typing: text and keys as the bytes of a terminal, whole and in order, or not at all. */

import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session.ts";
import { encodeKey } from "../../protocol/keys.ts";
import { pasted, typeParts, withEnter } from "../typing.ts";
import type { Call } from "./call.ts";

export type Typed = { readonly text?: string; readonly keys?: readonly string[]; readonly paste?: boolean };

/** Types the text, then presses the keys. */
export async function typeInto(
	session: Session,
	{ text = "", keys = [], paste = false }: Typed,
	{ options, signal }: Call,
): Promise<void> {
	const pressed = Buffer.concat(keys.map(encoded));
	const stream = options.newUuid();
	const origin = { stream, position: 0 };
	try {
		const typed = paste ? await pasted(session, text, pressed, origin) : withEnter(text, session);
		await typeParts(session, [Buffer.from(typed), pressed], { origin, signal });
	} finally {
		// Nobody else knows its name. Should this fail, it is forgotten with time.
		session.forgetStream(stream).catch(() => {});
	}
}

function encoded(key: string, index: number): Uint8Array {
	const bytes = encodeKey(key);
	if (bytes) return bytes;
	throw new SessionError("invalid_argument", `keys.${index}: unknown key ${JSON.stringify(key.slice(0, 60))}`, {
		hint: "a name such as Enter, Tab, Up or C-c; text goes into text",
	});
}
