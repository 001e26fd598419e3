/**
 * Recognizes the echo of typed lines at the beginning of the output that follows them: the lines as the terminal or a
 * line editor shows them before the program gets them. Editors may draw a line several times, each time from its
 * beginning or from where they stopped.
 */

/**
 * Longest input whose echo is recognized, in characters.
 * @limit typed text whose echo a wait for a text passes over | the echo of longer text counts as output
 */
const LONGEST_INPUT = 16 * 1024;
/** An editor draws a line at most about this many times. */
const MOST_DRAWS = 8;
/** Spaces and cursor movements of an editor, without the line's own characters. */
const MOST_MOVES = 256;

const PASTE_MARKS = /\u001b\[20[01]~/g;
/** Keys that edit the line, so that its echo is not what was typed. */
const EDITING = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;
const LINE_END = /\r\n|[\r\n]/;

/** The whole lines that this input types; none if their echo can't be known. */
export function typedLines(input: string): readonly string[] {
	const text = input.replaceAll(PASTE_MARKS, "");
	if (text.length > LONGEST_INPUT || EDITING.test(text)) return [];
	return text.split(LINE_END).slice(0, -1);
}

/**
 * Number of characters at the beginning of `text` that are the echo of these lines, or all of them while more output
 * must decide. Without the end of its line nothing counts as an echo.
 */
export function echoLength(text: string, lines: readonly string[]): number {
	let length = 0;
	for (const line of lines) {
		const end = endOfEcho(text, length, line);
		if (end === "undecided") return text.length;
		if (end === undefined) break;
		length = end;
	}
	return length;
}

/** The position after the line's echo. */
function endOfEcho(text: string, from: number, line: string): number | "undecided" | undefined {
	const longest = from + MOST_DRAWS * line.length + MOST_MOVES;
	let shown = 0;
	for (let at = from; at < text.length; at++) {
		const character = text.charAt(at);
		if (character === "\n") return shown === line.length ? at + 1 : undefined;
		if (character === line[shown]) shown++;
		else if (character === line[0]) shown = 1;
		else if (!"\r\b ".includes(character)) return undefined;
		if (at > longest) return undefined;
	}
	return "undecided";
}
