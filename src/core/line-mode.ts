/** What a terminal takes while it edits lines itself, as it does for programs that only read them. */

/** Of one line, without its end; the kernel drops the rest silently. */
export const LONGEST_LINE_BYTES = 4095;

const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** How long the longest line of an input is, in bytes. */
export function longestLine(bytes: Uint8Array): number {
	let longest = 0;
	let begin = 0;
	for (let at = 0; at <= bytes.byteLength; at++) {
		if (at < bytes.byteLength && bytes[at] !== NEWLINE && bytes[at] !== RETURN) continue;
		longest = Math.max(longest, at - begin);
		begin = at + 1;
	}
	return longest;
}
