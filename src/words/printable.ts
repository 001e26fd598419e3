/** Rules for names and labels that appear in lists, logs and terminals, and an escape for other texts. */

/**
 * Characters that are invisible or change the text around them. Names that differ only in these would look the same.
 */
const UNSEEN = "\\u115f\\u1160\\u2028\\u2029\\u2800\\u3164\\uffa0\\p{Cf}\\p{Default_Ignorable_Code_Point}";

/** Exceptions: invisible characters within an emoji, which select its form or join it with the next. */
const PICTURE = "\\p{Extended_Pictographic}";
const WITHIN_EMOJI = `(?<=${PICTURE})\\ufe0f|(?<=[${PICTURE}\\ufe0f\\u{1f3fb}-\\u{1f3ff}])\\u200d(?=${PICTURE})`;

/** Matches text without control characters, line ends and invisible characters. Needs the flag `u`. */
export const PRINTABLE: string = `^(?:[^\\u0000-\\u001f\\u007f-\\u009f${UNSEEN}]|${WITHIN_EMOJI})*$`;

const printable = new RegExp(PRINTABLE, "u");
const unseen = new RegExp(`${WITHIN_EMOJI}|([${UNSEEN}])`, "gu");

export function isPrintable(text: string): boolean {
	return printable.test(text);
}

/** Makes the invisible characters of a text visible. */
export function showUnseen(text: string, show: (character: string) => string = byNumber): string {
	return text.replace(unseen, (character, hidden?: string) => (hidden === undefined ? character : show(hidden)));
}

function byNumber(character: string): string {
	return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
