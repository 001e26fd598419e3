/**
 * Where escape sequences are in a program's output, whose bytes are read as Latin-1.
 *
 * Control characters beyond ASCII (C1) begin and end sequences as their two-byte forms with ESC do. As bytes they are
 * also what most letters end with in UTF-8: one of them counts only where it is a character of its own there (C2 9B),
 * or not a part of any.
 */

/** A character of several bytes in UTF-8 that is no control character. */
const LETTER =
	"(?:\\u00c2[\\u00a0-\\u00bf]|[\\u00c3-\\u00df][\\u0080-\\u00bf]|[\\u00e0-\\u00ef][\\u0080-\\u00bf]{2}|[\\u00f0-\\u00f4][\\u0080-\\u00bf]{3})";
/** What may be the beginning of one, or of a control character, at the end of a piece. */
const CUT_LETTER = "(?:[\\u00c2-\\u00df]|[\\u00e0-\\u00ef][\\u0080-\\u00bf]?|[\\u00f0-\\u00f4][\\u0080-\\u00bf]{0,2})$";
const CONTROL = "\\u00c2?[\\u0080-\\u009f]";

/** A sequence's beginning in all its forms; `ascii` is the character after ESC. */
function introducer(ascii: string): string {
	const control = [...ascii].map((character) => `\\u00${(character.charCodeAt(0) + 0x40).toString(16)}`).join("");
	return `(?:\\u001b[${ascii.replace(/[\]^]/g, "\\$&")}]|\\u00c2?[${control}])`;
}

const CSI = introducer("[");
const STRING_START = introducer("]PX^_");
const TMUX_START = `${introducer("P")}tmux;`;
const TERMINATOR = "(?:[\\u0007\\u0018\\u001a]|\\u001b\\\\|\\u00c2?\\u009c)";
/** The inside of a string such as a title, and that of what tmux hands on, in which every escape is doubled. */
const STRING = `(?:[^\\u0007\\u0018\\u001a\\u001b\\u0080-\\u00ff]|${LETTER}|(?!${LETTER}|${CONTROL}|${CUT_LETTER})[\\u00a0-\\u00ff])*`;
const PASSED_ON = "[^\\u001b]*(?:\\u001b\\u001b[^\\u001b]*)*";
/** How a string that goes on may end in a piece: with half of its end, or of a letter. */
const CUT_STRING = `(?:\\u001b|${CUT_LETTER})?`;

/** CSI; strings up to their end, which any other sequence is as well; the short ones; and ENQ, which asks for an answer all by itself. */
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

/** Letters first, so that no part of one is taken for the beginning of a sequence; what tmux hands on is no string that ends with its first escape. */
const TOKENS = new RegExp(`${LETTER}+|(?<unfinished>(?:${UNFINISHED})$)|(?<sequence>${SEQUENCE})`, "g");

export type Token = {
	readonly index: number;
	/** In the form with ESC, whatever it was written in, by which it is known what it is. */
	readonly meaning: string;
	readonly text: string;
	/** Whether its end is still to come. */
	readonly isFinished: boolean;
};

/** The sequences in a text, and at its end what may become one. */
export function* sequencesIn(text: string): Generator<Token, void, undefined> {
	for (const { 0: found, index, groups = {} } of text.matchAll(TOKENS)) {
		const isFinished = groups.sequence !== undefined;
		if (isFinished || groups.unfinished !== undefined)
			yield { index, meaning: meaningOf(found), text: found, isFinished };
	}
}

/** Whether there may be any in a text that is valid UTF-8. */
export function mayHaveSequences(text: string): boolean {
	return /[\u001b\u0005\u0007]|\u00c2[\u0080-\u009f]/.test(text);
}

const INSIDE = new RegExp(`^${STRING}`);
const INSIDE_TMUX = new RegExp(`^${PASSED_ON}`);
const AT_CUT = new RegExp(`^${CUT_STRING}$`);
const AT_END = new RegExp(`^${TERMINATOR}`);

/** A string too long to be kept until its end: how much of a text is inside of it, and how much ends it; undefined is not known yet. */
export class LongString {
	readonly #inside: RegExp;

	private constructor(inside: RegExp) {
		this.#inside = inside;
	}

	/** For the beginning of one; undefined when it is none. */
	static begun({ meaning }: Token): LongString | undefined {
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

/** What a piece of a long string ends with that belongs to what comes. */
export function cutOff(text: string): string {
	return CUT_OFF.exec(text)?.[0] ?? "";
}

function meaningOf(sequence: string): string {
	const [start = "", control] = /^\u00c2?([\u0080-\u009f])/.exec(sequence) ?? [];
	if (control === undefined && !sequence.endsWith("\u009c")) return sequence;
	const begun = control === undefined ? "" : `\u001b${String.fromCharCode(control.charCodeAt(0) - 0x40)}`;
	return begun + sequence.slice(start.length).replace(/\u00c2?\u009c$/, "\u001b\\");
}
