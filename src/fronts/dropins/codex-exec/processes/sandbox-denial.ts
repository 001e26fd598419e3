/**
 * Guesses from its output whether a program failed because of its sandbox. The client decides what to do with the
 * guess.
 */

import type { Stream } from "../../../../words/state.ts";

/** Phrases in error messages after a denied call; case is ignored. */
const WORDS = [
	"operation not permitted",
	"permission denied",
	"read-only file system",
	"seccomp",
	"sandbox",
	"landlock",
	"failed to write file",
];
/** Characters kept between chunks, for phrases that span two. */
const CARRIED = Math.max(...WORDS.map(({ length }) => length)) - 1;
/** Ended by SIGSYS, as some seccomp filters do. */
const BAD_CALL = 128 + 31;

export class SandboxDenial {
	readonly #tails = new Map<Stream, string>();
	#wasSaid = false;

	/** Checks some output. Each stream is scanned separately. */
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
