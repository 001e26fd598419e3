/** Types text and keys as terminal bytes: all of them in order, or none. */

import { SessionError } from "../../core/errors.ts";
import type { Session } from "../../core/session/session.ts";
import { newlinesToEnter, pasteText, typeInOrder } from "../../services/input/typing.ts";
import { encodeKey } from "../../words/keys.ts";
import { typedLines } from "../../words/typed-echo.ts";
import type { Call } from "./call.ts";

type Typed = { readonly text?: string; readonly keys?: readonly string[]; readonly paste?: boolean };

/** Types the text, then presses the keys. Resolves with the lines typed. */
export async function typeInto(
	session: Session,
	{ text = "", keys = [], paste = false }: Typed,
	{ options, signal }: Call,
): Promise<readonly string[]> {
	const pressed = Buffer.concat(keys.map(encoded));
	const stream = options.newUuid();
	const origin = { stream, position: 0 };
	try {
		const typed = paste ? await pasteText(session, text, pressed, origin) : newlinesToEnter(text, session);
		await typeInOrder(session, [Buffer.from(typed), pressed], { origin, signal });
		return typedLines(`${typed}${pressed}`);
	} finally {
		// The stream's name is not known to others. If this fails, the stream expires.
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
