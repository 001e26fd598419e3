/** `POST /files/replace`: replaces all occurrences of a text in a file, byte for byte. */

import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { openRegular } from "../../../../services/host/regular-file.ts";
import { ExecdError } from "../errors.ts";
import { refusal } from "../request-body.ts";
import { resolveTarget, writeAtomically } from "./atomic-write.ts";
import { type BytePath, onDisk, parentOf, shown } from "./byte-path.ts";
import { fileError, withFileErrors } from "./errors.ts";
import type { Spool, Spools } from "./spool.ts";

/** Bytes per read and write, unless the searched text is longer. Memory use is a few times the larger of the two. */
const BLOCK_BYTES = 64 * 1024;

type Replacement = { readonly old: Buffer; readonly new: Buffer };

/** Returns the number of replacements. A file without a match is not touched. */
export async function replaceIn(path: BytePath, replacement: Replacement, spools: Spools): Promise<number> {
	return withFileErrors(fileError, async () => {
		const place = await resolveTarget(path);
		const file = await openRegular(onDisk(place.path), constants.O_RDONLY);
		if (!file) throw new ExecdError(500, "RUNTIME_ERROR", `error accessing file: ${shown(path)} is not a regular file`);
		try {
			if (replacement.old.length === 0) throw refusal("old content must not be empty");
			if (!(await occursIn(file, replacement.old))) return 0;
			const spool = await spools.create(parentOf(place.path), true);
			try {
				const count = await copyReplaced(file, spool, replacement);
				await writeAtomically(spool, place, { ownership: { mode: undefined, uid: undefined, gid: undefined }, spools });
				return count;
			} finally {
				await spool.dispose();
			}
		} finally {
			await file.close();
		}
	});
}

async function occursIn(file: FileHandle, wanted: Buffer): Promise<boolean> {
	for await (const { matches } of blocksOf(file, wanted)) if (matches.length > 0) return true;
	return false;
}

async function copyReplaced(file: FileHandle, to: Spool, { old, new: by }: Replacement): Promise<number> {
	const out = new Gathered(to);
	let count = 0;
	for await (const { bytes, matches } of blocksOf(file, old)) {
		let from = 0;
		for (const at of matches) {
			// Avoids awaiting per match: every byte may be one.
			if (!out.add(bytes, from, at)) await out.write(bytes.subarray(from, at));
			if (!out.add(by, 0, by.length)) await out.write(by);
			from = at + old.length;
		}
		if (!out.add(bytes, from, bytes.length)) await out.write(bytes.subarray(from));
		count += matches.length;
	}
	await out.flush();
	return count;
}

/** Combines small pieces into few writes. */
class Gathered {
	readonly #to: Spool;
	readonly #bytes = Buffer.allocUnsafe(BLOCK_BYTES);
	#used = 0;

	constructor(to: Spool) {
		this.#to = to;
	}

	/** False if the buffer is full; then use `write`. */
	add(bytes: Buffer, from: number, to: number): boolean {
		if (this.#used + to - from > this.#bytes.length) return false;
		this.#used += bytes.copy(this.#bytes, this.#used, from, to);
		return true;
	}

	/** Flushes, then writes directly. */
	async write(bytes: Buffer): Promise<void> {
		await this.flush();
		await this.#to.write(bytes);
	}

	async flush(): Promise<void> {
		await this.#to.write(this.#bytes.subarray(0, this.#used));
		this.#used = 0;
	}
}

/** A block of a file and the offsets of matches in it. No match crosses its end. */
type Block = { readonly bytes: Buffer; readonly matches: readonly number[] };

async function* blocksOf(file: FileHandle, wanted: Buffer): AsyncGenerator<Block, void, void> {
	// At least as much as is carried over; otherwise that would be copied again and again.
	const size = Math.max(BLOCK_BYTES, wanted.length);
	let carried: Buffer = Buffer.alloc(0);
	for (let position = 0; ; ) {
		const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(size), 0, size, position);
		position += bytesRead;
		const bytes = Buffer.concat([carried, buffer.subarray(0, bytesRead)]);
		const matches = matchesIn(bytes, wanted);
		// The end of the block may be the start of a match.
		const rest = Math.max((matches.at(-1) ?? -wanted.length) + wanted.length, bytes.length - wanted.length + 1);
		const end = bytesRead === 0 ? bytes.length : Math.max(0, rest);
		yield { bytes: bytes.subarray(0, end), matches };
		if (bytesRead === 0) return;
		carried = bytes.subarray(end);
	}
}

/** Non-overlapping matches from left to right. */
function matchesIn(bytes: Buffer, wanted: Buffer): number[] {
	const matches: number[] = [];
	for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + wanted.length)) matches.push(at);
	return matches;
}
