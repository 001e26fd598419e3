/** Text from the clipboard on its way to a program. */

/** Begins and ends what is pasted in one piece, for programs that asked for it (mode 2004). */
const BEGIN = "\u001b[200~";
const END = "\u001b[201~";

/** How many lines it has; a newline at the end begins none. */
export function lineCount(text: string): number {
	return text.replace(/\r?\n$/, "").split(/\r\n|\r|\n/).length;
}

/** Whether to ask first: each of its lines would be taken by itself, and perhaps run. */
export function isRisky(text: string, isBracketed: boolean): boolean {
	return !isBracketed && lineCount(text) > 1;
}

/**
 * As it is typed. Control characters are left out, but for tabs and newlines: with them a text from a page could end its
 * own bracket, or press keys.
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
