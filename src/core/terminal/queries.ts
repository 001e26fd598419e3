/** Recognizes terminal queries: sequences that a terminal replies to. */

const QUERIES = new RegExp(
	[
		// Answerback (one character), and device attributes by their old name.
		"^\\u0005$",
		"^\\u001bZ$",
		// Status and cursor; attributes; version; keyboard; modes; sizes and titles; parameters; rectangles and tabs; graphics.
		"^\\u001b\\[(?:\\??[\\d;]*n|[>=]?[\\d;]*c|>[\\d;]*q|\\?u|\\?[\\d;]*m|\\??[\\d;]*\\$p)$",
		"^\\u001b\\[(?:(?:1[1-9]|2[01])(?:;[\\d;]*)?t|[01]?x|[\\d;]*(?:\\*y|\\$[uw]|&u)|\\?[\\d;]*S)$",
		// Program status. A report is never a query.
		"^\\u001b\\]7501;\\?(?:[\\u0007\\u001b]|$)",
		// Support for notifications.
		"^\\u001b\\]99;(?:[^;\\u0007\\u001b]*:)?p=\\?[:;]",
		// Colors and the clipboard. Titles, links and shell marks are never queries, whatever they contain.
		"^\\u001b\\](?!(?:[0-2]|[78]|133|633|7501);)\\d+;(?:[^\\u0007\\u001b]*;)?\\?(?:[;\\u0007\\u001b]|$)",
		// Settings and capabilities; graphics.
		"^\\u001bP[$+]q",
		"^\\u001b_G[^;]*a=q",
	].join("|"),
);

/** `sequence` has one character per byte and begins with ESC, not C1. A string may lack its terminator. */
export function isQuery(sequence: string): boolean {
	return QUERIES.test(sequence);
}
