/** Prepares clipboard text for a program. */

/** Start and end of a bracketed paste (mode 2004). */
const BEGIN = "\u001b[200~";
const END = "\u001b[201~";

/** Number of lines; a trailing newline starts none. */
export function lineCount(text: string): number {
	return text.replace(/\r?\n$/, "").split(/\r\n|\r|\n/).length;
}

/** Whether to ask first, because the program would take each line separately and might run it. */
export function isRisky(text: string, isBracketed: boolean): boolean {
	return !isBracketed && lineCount(text) > 1;
}

/**
 * The text to send. Drops control characters except tab and newline: copied text could otherwise end its bracket, or
 * press keys.
 */
export function pasted(text: string, isBracketed: boolean): string {
	const plain = text.replace(/\r\n|\n/g, "\r").replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, "");
	return isBracketed ? `${BEGIN}${plain}${END}` : plain;
}

export function asOneLine(text: string): string {
	return text
		.split(/\r\n|\r|\n/)
		.map((line) => line.trim())
		.filter((line) => line !== "")
		.join(" ");
}
