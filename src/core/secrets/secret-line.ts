/** A secret line such as a password: its allowed bytes, and how it is typed. */

import { SessionError } from "../errors.ts";
import { MAX_TERMINAL_LINE_BYTES } from "../input/line-limit.ts";
import { allocateOffHeap } from "./secret-memory.ts";

const ENTER = 0x0d;
const SPACE = 0x20;
const DELETE = 0x7f;

/** The line with Enter, in memory that can be overwritten. */
export function secretLine(value: Uint8Array): Uint8Array {
	checkSecret(value);
	const line = allocateOffHeap(value.byteLength + 1);
	line.set(value);
	line[value.byteLength] = ENTER;
	return line;
}

/**
 * Refuses control characters, because a terminal takes them for keys. Enter or Ctrl-D would end the line and leave the
 * rest to the next reader, such as a shell that echoes and runs it. Others erase, or end the program.
 */
function checkSecret(value: Uint8Array): void {
	if (value.some((byte) => byte < SPACE || byte === DELETE)) {
		throw new SessionError(
			"invalid_argument",
			"a secret can't contain control characters: a terminal takes them for keys",
			{
				hint: "pass such a secret to the program in a file or an environment variable",
			},
		);
	}
	if (value.byteLength > 0 && value.byteLength < MAX_TERMINAL_LINE_BYTES) return;
	throw new SessionError("invalid_argument", `a secret must be one line of 1 to ${MAX_TERMINAL_LINE_BYTES - 1} bytes`);
}

export function notRead(why: string): SessionError {
	return new SessionError("not_waiting", `the program does not read a secret now: ${why}`, {
		hint: "wait until its activity is waiting with kind secret",
	});
}

export function alreadyAnsweredError(): SessionError {
	return new SessionError("not_waiting", "input was typed after that output offset, so the prompt may be another", {
		hint: "inspect the session again and pass its episode too",
	});
}
