/**
 * Finds the keys that are meant for us among those typed for the program: `~.` at the start of a line and
 * `Ctrl-] d` leave; `~~` and `Ctrl-] Ctrl-]` send one of themselves.
 *
 * A key that may begin such a pair is held until the next one decides, as ssh does. What is pasted is never
 * taken for it, and Ctrl-] is recognised in the encodings that programs can ask terminals for.
 */

/** What to send, and whether the user wants to leave; what was typed after that is dropped. */
export type Typed = { readonly bytes: Buffer; readonly isDetach: boolean };

/** One key: an escape sequence or a single byte. */
const KEY = /\u001b\[[0-?]*[ -/]*[@-~]|./gs;
const PASTE_START = "\u001b[200~";
const PASTE_END = "\u001b[201~";
/** A key as the kitty protocol sends it: code, modifiers plus one, and 3 when it is let go. */
const KITTY = /^\u001b\[(\d+)(?::\d*)*(?:;(\d*)(?::(\d+))?)?(?:;[\d:]*)?u$/;
/** And as xterm does with modifyOtherKeys. */
const XTERM = /^\u001b\[27;(\d+);(\d+)~$/;
const CTRL = 4;

type Meaning = "tilde" | "bracket" | "dot" | "d" | "newline" | "other" | "released";

export class DetachKeys {
	#isLineStart = true;
	#isPasting = false;
	/** A key that may be the first of a pair, as it was typed. */
	#held: { readonly key: string; readonly is: "tilde" | "bracket" } | undefined;

	push(chunk: Uint8Array): Typed {
		let out = "";
		// One character for each byte, so that nothing is decoded that was cut in the middle.
		for (const [key] of Buffer.from(chunk).toString("latin1").matchAll(KEY)) {
			const sent = this.#press(key);
			if (sent === undefined) return { bytes: Buffer.from(out, "latin1"), isDetach: true };
			out += sent;
		}
		return { bytes: Buffer.from(out, "latin1"), isDetach: false };
	}

	/** What to send for a key; undefined to leave. */
	#press(key: string): string | undefined {
		if (this.#isPasting || key === PASTE_START) {
			this.#isPasting = key !== PASTE_END;
			return this.#release() + key;
		}
		const meaning = meaningOf(key);
		if (meaning === "released") return key;
		const held = this.#held;
		if (held === undefined) return this.#first(key, meaning);
		this.#held = undefined;
		if (held.is === "tilde" && meaning === "dot") return undefined;
		if (held.is === "bracket" && meaning === "d") return undefined;
		this.#isLineStart = meaning === "newline";
		return held.is === meaning ? key : held.key + key;
	}

	#first(key: string, meaning: Meaning): string {
		if (meaning === "bracket" || (meaning === "tilde" && this.#isLineStart)) {
			this.#held = { key, is: meaning };
			return "";
		}
		this.#isLineStart = meaning === "newline";
		return key;
	}

	#release(): string {
		const { key = "" } = this.#held ?? {};
		this.#held = undefined;
		this.#isLineStart = false;
		return key;
	}
}

const plain: Readonly<Record<string, Meaning>> = {
	"~": "tilde",
	"\u001d": "bracket",
	".": "dot",
	d: "d",
	"\r": "newline",
	"\n": "newline",
	// Ctrl-C and Ctrl-D end a line as far as a shell's prompt is concerned.
	"\u0003": "newline",
	"\u0004": "newline",
};

function meaningOf(key: string): Meaning {
	const [, code, modifiers, event] = KITTY.exec(key) ?? [];
	if (event === "3") return "released";
	if (code !== undefined) return encoded(Number(code), Number(modifiers || 1) - 1);
	const [, held, character] = XTERM.exec(key) ?? [];
	if (character !== undefined) return encoded(Number(character), Number(held) - 1);
	return plain[key] ?? "other";
}

function encoded(code: number, modifiers: number): Meaning {
	// The bits above Ctrl are Super and the lock keys, which change nothing.
	const held = modifiers & 7;
	if (held === CTRL) return code === 93 ? "bracket" : "other";
	return (held <= 1 ? plain[String.fromCodePoint(code)] : undefined) ?? "other";
}
