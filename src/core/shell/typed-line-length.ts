/**
 * Tracks the length of a shell's line from its input alone, as far as all line editors agree. A key that only the shell
 * understands, such as Up, makes it unknown until the line ends.
 */

const ESC = 0x1b;
const PASTE_MARK = "\u001b\\[20[01]~";
/** Input that the terminal itself generates: replies to queries, and reports of focus, mouse and size. */
const REPLY =
	"\u001b\\[(?:[?>=][\\d;]*\\$?[a-z]|[\\d;]+R|[\\d;]*[cnty]|<[\\d;]+[Mm]|M[^]{3}|[IO])" +
	"|\u001b[P\\]_^X][^\u0007\u001b]*(?:\u0007|\u001b\\\\)";
const REPLIES = new RegExp(`^(?:${REPLY})+$`);
/** A reply, a paste marker, or one character. */
const KEYS = new RegExp(`${REPLY}|${PASTE_MARK}|[^]`, "gu");
const PASTE_BEGIN = "\u001b[200~";
const PASTE_END = "\u001b[201~";
/** Enter, as a key and as a newline, and ^C. */
const LINE_ENDS: ReadonlySet<string> = new Set(["\r", "\n", "\u0003"]);
const BACKSPACES: ReadonlySet<string> = new Set(["\u007f", "\b"]);
const KILL_LINE = "\u0015";
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]/;

export class TypedLineLength {
	/** In characters; null while only the shell knows. */
	#length: number | null = 0;
	#isPasted = false;

	get isEmpty(): boolean {
		return this.#length === 0;
	}

	/** Takes typed bytes. Half a character counts as one, so the length is never too small. */
	type(bytes: Uint8Array): void {
		if (bytes.includes(ESC)) for (const [key] of new TextDecoder().decode(bytes).matchAll(KEYS)) this.#press(key);
		else for (const key of charactersOf(bytes)) this.#press(key);
	}

	/** A signal may end the line, but keeps input that the shell has not read yet. */
	interrupt(): void {
		if (this.#length !== 0) this.#length = null;
	}

	#press(key: string): void {
		if (key === PASTE_BEGIN || key === PASTE_END) this.#isPasted = key === PASTE_BEGIN;
		else if (key.length > 1 && key.startsWith("\u001b")) return;
		else if (!this.#isPasted && LINE_ENDS.has(key)) this.#length = 0;
		else if (this.#length === null) return;
		else if (!CONTROLS.test(key)) this.#length++;
		else if (this.#isPasted) this.#length = null;
		else if (BACKSPACES.has(key)) this.#length = Math.max(0, this.#length - 1);
		else if (key === KILL_LINE) this.#length = 0;
		else this.#length = null;
	}
}

/**
 * Decodes one character at a time. The bytes may be a secret, and a string of the whole input would stay in memory
 * where it can't be overwritten.
 */
function* charactersOf(bytes: Uint8Array): Generator<string> {
	const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
	for (let start = 0; start < bytes.byteLength; ) {
		let end = start + 1;
		while (isContinuation(bytes[end])) end++;
		yield* decoder.decode(bytes.subarray(start, end));
		start = end;
	}
}

/** Whether a byte is in the middle of a UTF-8 character. */
function isContinuation(byte: number | undefined): boolean {
	return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Whether the terminal typed these bytes by itself, not a user. */
export function isTerminalReply(bytes: Uint8Array): boolean {
	return bytes[0] === 0x1b && REPLIES.test(new TextDecoder().decode(bytes));
}
