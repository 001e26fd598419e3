/** Key names and literal text of a request, as the bytes that a terminal sends for them. */

import { SessionError } from "../../core/errors.ts";
import { encodeKey } from "../../words/keys.ts";

/** A key with this prefix is typed as text. */
const TEXT_PREFIX = "text:";

export function encodeKeys(keys: readonly string[]): Buffer {
	return Buffer.concat(keys.map(encoded));
}

function encoded(key: string, index: number): Uint8Array {
	if (key.startsWith(TEXT_PREFIX)) return Buffer.from(key.slice(TEXT_PREFIX.length));
	const bytes = encodeKey(key);
	if (bytes) return bytes;
	throw new SessionError("invalid_argument", `keys.${index}: unknown key ${JSON.stringify(key.slice(0, 60))}`, {
		hint: `a name such as Enter, Tab, Up, C-c or ctrl+c; text is sent as ${TEXT_PREFIX}…`,
	});
}
