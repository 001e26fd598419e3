/** `send-keys` arguments: a known key name is a key, anything else is literal text. */

import { encodeKey } from "../../words/keys.ts";

const KEY =
	/^(?:[CMS]-)*(?:F[1-9]|F1[0-2]|IC|Insert|DC|Delete|Home|End|NPage|PageDown|PgDn|PPage|PageUp|PgUp|B?Tab|Space|BSpace|Enter|Escape|Up|Down|Left|Right|KPEnter)$/i;
const MODIFIED = /^(?:(?:[CMS]-)+|\^)[^\s]$/iu;
const KEYPAD = /^KP([0-9*/+.-])$/;
const CODE = /^0x([0-9a-f]{1,6})$/i;

export function bytesOfKey(word: string): Uint8Array {
	const [, onKeypad] = KEYPAD.exec(word) ?? [];
	const [, code] = CODE.exec(word) ?? [];
	if (onKeypad !== undefined) return Buffer.from(onKeypad);
	if (code !== undefined && Number.parseInt(code, 16) <= 0x10ffff)
		return Buffer.from(String.fromCodePoint(Number.parseInt(code, 16)));
	const isKey = KEY.test(word) || MODIFIED.test(word);
	return (isKey ? encodeKey(word.replace(/KPEnter$/i, "Enter")) : undefined) ?? Buffer.from(word);
}

/** For example `41` is A. */
export function byteOfHex(word: string): Uint8Array {
	return /^[0-9a-f]{1,2}$/i.test(word) ? Buffer.from([Number.parseInt(word, 16)]) : Buffer.alloc(0);
}
