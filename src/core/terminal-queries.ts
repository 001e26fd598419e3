/** What a program can ask its terminal: the sequences to which a terminal types an answer. */

const QUERIES = new RegExp(
	[
		// The answerback, which is asked for by one character, and the attributes by an old name.
		"^\\u0005$",
		"^\\u001bZ$",
		// Status and cursor; attributes; version; keyboard; modes; sizes and titles; parameters; rectangles and tabs; graphics.
		"^\\u001b\\[(?:\\??[\\d;]*n|[>=]?[\\d;]*c|>[\\d;]*q|\\?u|\\?[\\d;]*m|\\??[\\d;]*\\$p)$",
		"^\\u001b\\[(?:(?:1[1-9]|2[01])(?:;[\\d;]*)?t|[01]?x|[\\d;]*(?:\\*y|\\$[uw]|&u)|\\?[\\d;]*S)$",
		// Colours and the clipboard; titles, links and what shells say are none, whatever is in them.
		"^\\u001b\\](?!(?:[0-2]|[78]|133|633);)\\d+;(?:[^\\u0007\\u001b]*;)?\\?(?:[;\\u0007\\u001b]|$)",
		// Settings and capabilities; graphics.
		"^\\u001bP[$+]q",
		"^\\u001b_G[^;]*a=q",
	].join("|"),
);

/** `sequence` has one character for each byte, and begins with ESC rather than C1; a string may be without its end. */
export function isQuery(sequence: string): boolean {
	return QUERIES.test(sequence);
}
