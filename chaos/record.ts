/** The record of one witness on disk, and one reader's copy of its output checked against it byte by byte. */

import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";

/** How a session ended, as a reader saw it. */
export type Ending = { readonly kind: "closed" | "lost"; readonly offset: number; readonly exitCode: number | null };

export class WitnessRecord {
	readonly directory: string;

	constructor(directory: string) {
		this.directory = directory;
	}

	/** The size of a part of the record; zero before the witness has begun it. */
	size(part: "wrote" | "read"): number {
		try {
			return this.#within(part, (file) => fstatSync(file).size);
		} catch {
			return 0;
		}
	}

	/** As many of the bytes as there are. */
	bytes(part: "wrote" | "read", from: number, length: number): Buffer {
		if (length === 0) return Buffer.alloc(0);
		return this.#within(part, (file) => {
			const bytes = Buffer.alloc(length);
			return bytes.subarray(0, readSync(file, bytes, 0, length, from));
		});
	}

	#within<T>(part: "wrote" | "read", work: (file: number) => T): T {
		const file = openSync(join(this.directory, part), "r");
		try {
			return work(file);
		} finally {
			closeSync(file);
		}
	}
}

/** The output that one reader has received. Every problem is recorded once, with the offset where it was seen. */
export class Transcript {
	readonly name: string;
	readonly problems: string[] = [];
	readonly gaps: { readonly from: number; readonly to: number; readonly reason: string }[] = [];
	ending: Ending | undefined;
	compared = 0;
	#next = 0;
	#exitCode: number | null = null;
	readonly #record: WitnessRecord;

	constructor(name: string, record: WitnessRecord) {
		this.name = name;
		this.#record = record;
	}

	/** The offset of the first byte that the reader has not received. */
	get next(): number {
		return this.#next;
	}

	output(offset: number, bytes: Uint8Array): void {
		this.#continues("output", offset);
		if (bytes.byteLength > 0 && !this.#record.bytes("wrote", offset, bytes.byteLength).equals(bytes)) {
			this.problem(`output at ${offset} differs from what the program wrote`);
		}
		this.compared += bytes.byteLength;
		this.#next = offset + bytes.byteLength;
	}

	gap(from: number, to: number, reason: string): void {
		this.#continues("a gap", from);
		if (to <= from) this.problem(`a gap from ${from} to ${to}`);
		this.gaps.push({ from, to, reason });
		this.#next = to;
	}

	exited(code: number | null): void {
		this.#exitCode = code;
	}

	end(kind: Ending["kind"], offset: number): void {
		// A killed keeper may have sent bytes that its journal did not get: a lost session may end before them.
		if (kind === "closed" || offset > this.#next) this.#continues(kind, offset);
		if (this.ending) this.problem(`ended twice: ${this.ending.kind}, then ${kind}`);
		this.ending = { kind, offset, exitCode: this.#exitCode };
	}

	problem(sentence: string): void {
		// A reader that is wrong once is wrong on every byte that follows.
		if (this.problems.length < 5) this.problems.push(`${this.name}: ${sentence}`);
	}

	#continues(what: string, offset: number): void {
		if (this.ending) this.problem(`${what} at ${offset} after the end`);
		if (offset !== this.#next) this.problem(`${what} at ${offset}, expected ${this.#next}`);
	}
}
