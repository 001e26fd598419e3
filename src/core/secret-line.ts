/** A line that nobody may see, such as a password: what may be in it, and how it is typed. */

import { SessionError } from "./errors.ts";
import { LONGEST_LINE_BYTES } from "./line-mode.ts";
import { outsideHeap } from "./outside-heap.ts";

const ENTER = 0x0d;
const SPACE = 0x20;
const DELETE = 0x7f;

/** With Enter behind it, where it can be overwritten. */
export function secretLine(value: Uint8Array): Uint8Array {
	checkSecret(value);
	const line = outsideHeap(value.byteLength + 1);
	line.set(value);
	line[value.byteLength] = ENTER;
	return line;
}

/**
 * A terminal takes control characters for keys. One that ends the line, as Enter and Ctrl-D do, would leave the rest to
 * whoever reads next, such as a shell that shows and runs it; others erase, or end the program.
 */
function checkSecret(value: Uint8Array): void {
	if (value.some((byte) => byte < SPACE || byte === DELETE)) {
		throw new SessionError("invalid_argument", "a secret has no control characters: a terminal takes them for keys", {
			hint: "what has some can only be given to a program in a file or a variable",
		});
	}
	if (value.byteLength > 0 && value.byteLength < LONGEST_LINE_BYTES) return;
	throw new SessionError("invalid_argument", `a secret is one line, of 1 to ${LONGEST_LINE_BYTES - 1} bytes`);
}

export function wouldShow(): SessionError {
	return new SessionError("not_waiting", "the program does not read a secret now: its terminal would show it", {
		hint: "wait until it asks for one",
	});
}

export function answeredThere(): SessionError {
	return new SessionError(
		"not_waiting",
		"something was typed since the output ended there: the question may be another",
		{
			hint: "look at what it asks now, and give its episode, too",
		},
	);
}
