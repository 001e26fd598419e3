/** Which texts are fit for names and labels, which are shown in lists, logs and terminals; and how others are shown. */

/** What is not seen, or changes how the rest is: two names that differ by it alone would look the same. */
const UNSEEN = "\\u115f\\u1160\\u2028\\u2029\\u2800\\u3164\\uffa0\\p{Cf}\\p{Default_Ignorable_Code_Point}";

/** Of that, what is seen in the middle of an emoji: which picture it is, and that it is one with the next. */
const PICTURE = "\\p{Extended_Pictographic}";
const WITHIN_EMOJI = `(?<=${PICTURE})\\ufe0f|(?<=[${PICTURE}\\ufe0f\\u{1f3fb}-\\u{1f3ff}])\\u200d(?=${PICTURE})`;

/** Neither control characters and line ends, nor what is not seen; an expression with the flag `u`. */
export const PRINTABLE: string = `^(?:[^\\u0000-\\u001f\\u007f-\\u009f${UNSEEN}]|${WITHIN_EMOJI})*$`;

const printable = new RegExp(PRINTABLE, "u");
const unseen = new RegExp(`${WITHIN_EMOJI}|([${UNSEEN}])`, "gu");

export function isPrintable(text: string): boolean {
	return printable.test(text);
}

/** A name that others have chosen, with all that is in it. */
export function showUnseen(text: string, show: (character: string) => string = byNumber): string {
	return text.replace(unseen, (character, hidden?: string) => (hidden === undefined ? character : show(hidden)));
}

function byNumber(character: string): string {
	return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
