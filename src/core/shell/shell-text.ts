/**
 * Cleans a shell's output for display. A command's text loses the marks of our hooks and the CRs that the terminal
 * added. A recording keeps the marks, with zeros instead of the key.
 */

/** The end of each mark of our hooks. */
const KEY = String.raw`[0-9a-f]{24}\u001b\\`;
/**
 * Between the two marks that bash writes before a command there is whatever the user's hooks print. Another first mark
 * in between ends the search, so that each byte is scanned only once.
 */
const OWN_MARKS = new RegExp(
	String.raw`\u001b\]133;O;h=${KEY}(?:(?!\u001b\]133;O;).){0,4096}?\u001b\]133;C;t=1?(?:;n=\d{1,12})?;h=${KEY}` +
		String.raw`|\u001b\](?:133;[A-Z](?:;[^\u001b;]{0,40}){0,2};h=|633;E;[^\u001b]{0,4096};)${KEY}`,
	"gs",
);
/** A mark without its end; the group is everything before the key. */
const KEYED_MARK =
	/(\u001b\](?:133;[A-Z](?:;[^\u001b;]{0,40}){0,2};h=|633;E;[^\u001b]{0,4096};))[0-9a-f]{24}(?=\u001b\\)/g;
const NO_KEY = "0".repeat(24);
/** A possible beginning of a mark at the end of a part. A longer one is not ours. */
const UNFINISHED_MARK = /\u001b(?:\][136]{0,3}(?:;[^\u0007\u001b]{0,4200}\u001b?)?)?$/;
/** Sequences that fish sends to its terminal before a command runs: bracketed paste off, a title, colors off. */
const PROLOGUE =
	/^\u001b\[\?2004l(?:\u001b\[>4;0m|\u001b>)*(?:\u001b\][02];[^\u0007\u001b]*\u0007)?(?:\u001b\[30m\u001b\(B\u001b\[m)?\r?/;

/** Output whose meaning depends on what follows: a CR, or an incomplete escape sequence. */
const UNFINISHED = /(?:\r|\u001b(?:\[[0-?]{0,64}[ -/]{0,8}|[\]PX^_][^\u0007\u001b]{0,4096}\u001b?|[ -/]{0,8})?)$/;
/** Longest match of that, in bytes. */
const UNFINISHED_BYTES = 4200;

/** Number of bytes at the end of unfinished output that should be delivered with what follows. */
export function unfinishedBytes(bytes: Uint8Array): number {
	const tail = new TextDecoder("latin1").decode(bytes.subarray(-UNFINISHED_BYTES));
	return UNFINISHED.exec(tail)?.[0].length ?? unfinishedCharacter(bytes);
}

function unfinishedCharacter(bytes: Uint8Array): number {
	for (let back = 1; back <= 3 && back <= bytes.byteLength; back++) {
		const byte = bytes.at(-back) ?? 0;
		if (byte < 0x80) return 0;
		if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0;
	}
	return 0;
}

export function shellText(bytes: Uint8Array): string {
	return new TextDecoder().decode(shellBytes(bytes));
}

/** The same for bytes in any encoding. `isFirst` is false for later parts of a command's output. */
export function shellBytes(bytes: Uint8Array, isFirst = true): Uint8Array {
	const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1").replace(OWN_MARKS, "");
	return Buffer.from((isFirst ? text.replace(PROLOGUE, "") : text).replaceAll("\r\n", "\n"), "latin1");
}

/**
 * Overwrites the key in marks, without changing any offset. The text may come in parts; an incomplete mark is held back
 * until it is complete.
 */
export class MarkKeyRedactor {
	#held = "";

	take(text: string): string {
		const all = this.#held + text;
		this.#held = UNFINISHED_MARK.exec(all)?.[0] ?? "";
		return all.slice(0, all.length - this.#held.length).replace(KEYED_MARK, `$1${NO_KEY}`);
	}

	/** Returns the text that is still held back, at the end. */
	end(): string {
		const held = this.#held;
		this.#held = "";
		return held;
	}
}
