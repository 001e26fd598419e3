/** Whether a program that failed in a sandbox failed because of it, as far as its output shows: a guess, and the client's to use. */

import type { Stream } from "../../../core/event.ts";

/** What programs say, in any case, of what they were kept from. */
const WORDS = [
	"operation not permitted",
	"permission denied",
	"read-only file system",
	"seccomp",
	"sandbox",
	"landlock",
	"failed to write file",
];
/** What may be cut off at the end of a chunk. */
const CARRIED = Math.max(...WORDS.map(({ length }) => length)) - 1;
/** Ended by SIGSYS, which is how other filters refuse. */
const BAD_CALL = 128 + 31;

export class Denial {
	readonly #tails = new Map<Stream, string>();
	#wasSaid = false;

	/** Looks at some output, each stream by itself. */
	note(stream: Stream, bytes: Uint8Array): void {
		if (this.#wasSaid) return;
		const { buffer, byteOffset, byteLength } = bytes;
		const text = (this.#tails.get(stream) ?? "") + Buffer.from(buffer, byteOffset, byteLength).toString("latin1");
		const lower = text.toLowerCase();
		this.#wasSaid = WORDS.some((word) => lower.includes(word));
		this.#tails.set(stream, text.slice(-CARRIED));
	}

	explains(exitCode: number): boolean {
		return exitCode !== 0 && (exitCode === BAD_CALL || this.#wasSaid);
	}
}
