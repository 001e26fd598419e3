/**
 * What a shell wrote, for others. A command's text is without the marks of our hooks, and without what its terminal made
 * of newlines; a recording has the marks, but zeros for the key by which the session knows them.
 */

/** How each mark of our hooks ends. */
const KEY = String.raw`[0-9a-f]{24}\u001b\\`;
/**
 * The two that bash writes before a command have what the user lets it write then between them. Another first one there
 * ends the search, so that no byte is looked at from more than one of them.
 */
const OWN_MARKS = new RegExp(
	String.raw`\u001b\]133;O;h=${KEY}(?:(?!\u001b\]133;O;).){0,4096}?\u001b\]133;C;t=1?(?:;n=\d{1,12})?;h=${KEY}` +
		String.raw`|\u001b\](?:133;[A-Z](?:;[^\u001b;]{0,40}){0,2};h=|633;E;[^\u001b]{0,4096};)${KEY}`,
	"gs",
);
/** All but its end, and first what stays of it. */
const KEYED_MARK =
	/(\u001b\](?:133;[A-Z](?:;[^\u001b;]{0,40}){0,2};h=|633;E;[^\u001b]{0,4096};))[0-9a-f]{24}(?=\u001b\\)/g;
const NO_KEY = "0".repeat(24);
/** What may be the beginning of one, at the end of a part; longer ones are none of ours. */
const UNFINISHED_MARK = /\u001b(?:\][136]{0,3}(?:;[^\u0007\u001b]{0,4200}\u001b?)?)?$/;
/** What fish says to its terminal before it lets a command write: no pastes in brackets any more, a title, no colours. */
const PROLOGUE =
	/^\u001b\[\?2004l(?:\u001b\[>4;0m|\u001b>)*(?:\u001b\][02];[^\u0007\u001b]*\u0007)?(?:\u001b\[30m\u001b\(B\u001b\[m)?\r?/;

/** What may belong to what comes next, at the end of output: a return, an escape sequence or a character that is not whole. */
const UNFINISHED = /(?:\r|\u001b(?:\[[0-?]{0,64}[ -/]{0,8}|[\]PX^_][^\u0007\u001b]{0,4096}\u001b?|[ -/]{0,8})?)$/;
/** As many bytes as the text of that may have. */
const UNFINISHED_BYTES = 4200;

/** How many bytes at the end of output that goes on are better told with what follows. */
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
	const text = new TextDecoder().decode(bytes);
	return text.replace(OWN_MARKS, "").replace(PROLOGUE, "").replaceAll("\r\n", "\n");
}

/**
 * Overwrites the key of marks, so that every place in the text stays the same. The text may come in parts, and a mark
 * that is not whole is held back until it is.
 */
export class KeyEraser {
	#held = "";

	take(text: string): string {
		const all = this.#held + text;
		this.#held = UNFINISHED_MARK.exec(all)?.[0] ?? "";
		return all.slice(0, all.length - this.#held.length).replace(KEYED_MARK, `$1${NO_KEY}`);
	}

	/** What was held back: nothing follows it. */
	end(): string {
		const held = this.#held;
		this.#held = "";
		return held;
	}
}
