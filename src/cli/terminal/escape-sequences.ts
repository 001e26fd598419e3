/**
 * Finds escape sequences in a program's output, read as Latin-1.
 *
 * C1 control characters start and end sequences like their two-byte ESC forms. The same bytes occur inside most UTF-8
 * characters, so a C1 byte counts only if it is encoded as a character (C2 9B) or is not part of a valid one.
 */

/** A multi-byte UTF-8 character that is not a control character. */
const LETTER =
	"(?:\\u00c2[\\u00a0-\\u00bf]|[\\u00c3-\\u00df][\\u0080-\\u00bf]|[\\u00e0-\\u00ef][\\u0080-\\u00bf]{2}|[\\u00f0-\\u00f4][\\u0080-\\u00bf]{3})";
/** The possible start of a multi-byte character at the end of a chunk. */
const CUT_LETTER = "(?:[\\u00c2-\\u00df]|[\\u00e0-\\u00ef][\\u0080-\\u00bf]?|[\\u00f0-\\u00f4][\\u0080-\\u00bf]{0,2})$";
const CONTROL = "\\u00c2?[\\u0080-\\u009f]";

/** All forms of a sequence's introducer. `ascii` is the character after ESC. */
function introducer(ascii: string): string {
	const control = [...ascii].map((character) => `\\u00${(character.charCodeAt(0) + 0x40).toString(16)}`).join("");
	return `(?:\\u001b[${ascii.replace(/[\]^]/g, "\\$&")}]|\\u00c2?[${control}])`;
}

const CSI = introducer("[");
const STRING_START = introducer("]PX^_");
const TMUX_START = `${introducer("P")}tmux;`;
const TERMINATOR = "(?:[\\u0007\\u0018\\u001a]|\\u001b\\\\|\\u00c2?\\u009c)";
/** The content of a string such as a title, and of tmux passthrough, where every ESC is doubled. */
const STRING = `(?:[^\\u0007\\u0018\\u001a\\u001b\\u0080-\\u00ff]|${LETTER}|(?!${LETTER}|${CONTROL}|${CUT_LETTER})[\\u00a0-\\u00ff])*`;
const PASSED_ON = "[^\\u001b]*(?:\\u001b\\u001b[^\\u001b]*)*";
/** How a chunk may end inside a string: within its terminator or within a character. */
const CUT_STRING = `(?:\\u001b|${CUT_LETTER})?`;

/**
 * CSI sequences; strings up to their terminator or the next sequence; short sequences; and ENQ, which requests an
 * answer.
 */
const SEQUENCE = [
	`${CSI}[0-?]*[ -/]*[@-~]`,
	`${TMUX_START}${PASSED_ON}\\u001b\\\\`,
	`${STRING_START}${STRING}(?:${TERMINATOR}|(?=\\u001b[^\\\\]|${CONTROL}))`,
	"\\u001b[ -/]*[0-OQ-WYZ\\\\`-~]",
	"\\u00c2?[\\u0080-\\u008f\\u0091-\\u0097\\u0099\\u009a\\u009c]",
	"\\u0005",
].join("|");
const UNFINISHED = [
	`${CSI}[0-?]*[ -/]*`,
	`${TMUX_START}${PASSED_ON}\\u001b?`,
	`${STRING_START}${STRING}${CUT_STRING}`,
	"\\u001b[ -/]*",
	CUT_LETTER,
].join("|");

/**
 * Characters first, so that none of their bytes starts a sequence. The first ESC in tmux passthrough does not end it.
 */
const TOKENS = new RegExp(`${LETTER}+|(?<unfinished>(?:${UNFINISHED})$)|(?<sequence>${SEQUENCE})`, "g");

export type Token = {
	readonly index: number;
	/** The sequence in its ESC form, for matching. */
	readonly meaning: string;
	readonly text: string;
	readonly isFinished: boolean;
};

/** Yields the sequences in a text, and at its end a possible start of one. */
export function* sequencesIn(text: string): Generator<Token, void, undefined> {
	for (const { 0: found, index, groups = {} } of text.matchAll(TOKENS)) {
		const isFinished = groups.sequence !== undefined;
		if (isFinished || groups.unfinished !== undefined)
			yield { index, meaning: meaningOf(found), text: found, isFinished };
	}
}

/** Whether a text in valid UTF-8 may contain sequences. */
export function mayHaveSequences(text: string): boolean {
	return /[\u001b\u0005\u0007]|\u00c2[\u0080-\u009f]/.test(text);
}

const INSIDE = new RegExp(`^${STRING}`);
const INSIDE_TMUX = new RegExp(`^${PASSED_ON}`);
const AT_CUT = new RegExp(`^${CUT_STRING}$`);
const AT_END = new RegExp(`^${TERMINATOR}`);

/**
 * A string too long to buffer. Reports how much of a text is inside of it and where it ends; undefined if the end has
 * not come.
 */
export class LongString {
	readonly #inside: RegExp;

	private constructor(inside: RegExp) {
		this.#inside = inside;
	}

	/** Undefined if the token does not start a string. */
	static start({ meaning }: Token): LongString | undefined {
		if (meaning.startsWith("\u001bPtmux;")) return new LongString(INSIDE_TMUX);
		return /^\u001b[\]PX^_]/.test(meaning) ? new LongString(INSIDE) : undefined;
	}

	read(text: string): { readonly inside: number; readonly end: number | undefined } {
		const inside = this.#inside.exec(text)?.[0].length ?? 0;
		const after = text.slice(inside);
		return { inside, end: AT_CUT.test(after) ? undefined : (AT_END.exec(after)?.[0].length ?? 0) };
	}
}

const CUT_OFF = new RegExp(`(?:\\u001b|${CUT_LETTER})$`);

/** The end of a chunk of a long string that belongs to the next chunk. */
export function incompleteTail(text: string): string {
	return CUT_OFF.exec(text)?.[0] ?? "";
}

function meaningOf(sequence: string): string {
	const [start = "", control] = /^\u00c2?([\u0080-\u009f])/.exec(sequence) ?? [];
	if (control === undefined && !sequence.endsWith("\u009c")) return sequence;
	const begun = control === undefined ? "" : `\u001b${String.fromCharCode(control.charCodeAt(0) - 0x40)}`;
	return begun + sequence.slice(start.length).replace(/\u00c2?\u009c$/, "\u001b\\");
}
