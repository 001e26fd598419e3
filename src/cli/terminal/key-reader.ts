/** Reads a terminal's input as named keys, text and pastes. */

import { StringDecoder } from "node:string_decoder";

/** `text` is one character; `key` has a name such as `Up`, `Enter` or `C-c`. */
export type Key = { readonly kind: "key" | "text" | "paste"; readonly value: string };

/** How long an Escape may be the start of a longer sequence, in milliseconds. A key's bytes usually arrive together. */
const ESCAPE_MS = 50;

/** Maximum paste, in characters. A longer one, or one without an end, is read as keys. */
const LONGEST_PASTE = 64 * 1024;

const PASTE_START = "\u001b[200~";
const PASTE_END = "\u001b[201~";
const ONE = /\u001b\[[0-?]*[ -/]*[@-~]|\u001bO[@-~]|\u001b\u001b|\u001b[^[O\u001b]|./gsu;
const UNFINISHED = /\u001b(?:\[[0-?]*[ -/]*|O)?$/;

const NAMES: Readonly<Record<string, string>> = {
	"\r": "Enter",
	"\n": "Enter",
	"\t": "Tab",
	"\u001b": "Escape",
	"\u001b\u001b": "Escape",
	"\b": "Backspace",
	"\u007f": "Backspace",
	"\u001b[A": "Up",
	"\u001bOA": "Up",
	"\u001b[B": "Down",
	"\u001bOB": "Down",
	"\u001b[C": "Right",
	"\u001bOC": "Right",
	"\u001b[D": "Left",
	"\u001bOD": "Left",
	"\u001b[H": "Home",
	"\u001bOH": "Home",
	"\u001b[1~": "Home",
	"\u001b[F": "End",
	"\u001bOF": "End",
	"\u001b[4~": "End",
	"\u001b[3~": "Delete",
	"\u001b[5~": "PageUp",
	"\u001b[6~": "PageDown",
};

export class KeyReader {
	readonly #onKeys: (keys: readonly Key[]) => void;
	readonly #decoder = new StringDecoder("utf8");
	/** The possible start of a key, or an unfinished paste. */
	#held = "";
	#timer: NodeJS.Timeout | undefined;

	/** `onKeys` gets keys that arrived together in one call. */
	constructor(onKeys: (keys: readonly Key[]) => void) {
		this.#onKeys = onKeys;
	}

	push(chunk: Uint8Array): void {
		clearTimeout(this.#timer);
		const { keys, rest } = keysIn(this.#held + this.#decoder.write(chunk));
		this.#held = rest.length > LONGEST_PASTE ? "" : rest;
		if (rest !== "" && !rest.startsWith(PASTE_START)) this.#timer = setTimeout(() => this.#giveUp(), ESCAPE_MS);
		if (keys.length > 0) this.#onKeys(keys);
	}

	/** Drops buffered input. */
	forget(): void {
		clearTimeout(this.#timer);
		this.#held = "";
	}

	/** The bytes match no key: an Escape alone, or an unknown sequence. */
	#giveUp(): void {
		const isEscape = this.#held === "\u001b";
		this.#held = "";
		if (isEscape) this.#onKeys([{ kind: "key", value: "Escape" }]);
	}
}

function keysIn(text: string): { readonly keys: Key[]; readonly rest: string } {
	const start = text.indexOf(PASTE_START);
	if (start >= 0) {
		const before = keysIn(text.slice(0, start)).keys;
		const end = text.indexOf(PASTE_END, start);
		if (end < 0) return { keys: before, rest: text.slice(start) };
		const pasted = text.slice(start + PASTE_START.length, end);
		const after = keysIn(text.slice(end + PASTE_END.length));
		return { keys: [...before, { kind: "paste", value: pasted }, ...after.keys], rest: after.rest };
	}
	const rest = UNFINISHED.exec(text)?.[0] ?? "";
	const whole = text.slice(0, text.length - rest.length);
	return { keys: (whole.match(ONE) ?? []).flatMap((one) => keyOf(one)), rest };
}

function keyOf(one: string): Key[] {
	const name = NAMES[one];
	if (name !== undefined) return [{ kind: "key", value: name }];
	const code = one.codePointAt(0) ?? 0;
	if (code === 0x1b) return [];
	if (code < 0x20) return [{ kind: "key", value: `C-${String.fromCharCode(code + 0x60)}` }];
	return [{ kind: "text", value: one }];
}
