/** Limits of a terminal in canonical mode, in which the kernel edits lines. */

/**
 * The longest line without its end. The kernel drops the rest silently.
 * @limit a line for a terminal that edits lines itself (`send`, `run`) | 400, and nothing is typed
 */
export const MAX_TERMINAL_LINE_BYTES = 4095;

const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** The length of the longest line in bytes. */
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
