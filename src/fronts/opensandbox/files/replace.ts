/** `POST /files/replace`: a text for another, wherever it stands in a file, byte for byte. */

import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { openRegular } from "../../regular-file.ts";
import { ExecdError } from "../answers.ts";
import { refusal } from "../body.ts";
import { type BytePath, onDisk, parentOf, shown } from "./byte-path.ts";
import { fileError, saying } from "./errors.ts";
import { placeOf, put } from "./place.ts";
import type { Spool, Spools } from "./spool.ts";

/** Read at once; with the carry of one search text, what it takes of memory. */
const READ_BYTES = 256 * 1024;

export type Replacement = { readonly old: Buffer; readonly new: Buffer };

/** How often it was there. A file without it stays untouched. */
export async function replaceIn(path: BytePath, replacement: Replacement, spools: Spools): Promise<number> {
	return saying(fileError, async () => {
		const place = await placeOf(path);
		const file = await openRegular(onDisk(place.path), constants.O_RDONLY);
		if (!file) throw new ExecdError(500, "RUNTIME_ERROR", `error accessing file: ${shown(path)} is no regular file`);
		try {
			if (replacement.old.length === 0) throw refusal("old content must not be empty");
			if (!(await occursIn(file, replacement.old))) return 0;
			const spool = await spools.create(parentOf(place.path), true);
			try {
				const count = await copyReplaced(file, spool, replacement);
				await put(spool, place, { ownership: { mode: undefined, uid: undefined, gid: undefined }, spools });
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
	for await (const piece of piecesOf(file, wanted)) if (piece.isMatch) return true;
	return false;
}

async function copyReplaced(file: FileHandle, to: Spool, { old, new: by }: Replacement): Promise<number> {
	let count = 0;
	for await (const { bytes, isMatch } of piecesOf(file, old)) {
		if (isMatch) count++;
		await to.write(isMatch ? by : bytes);
	}
	return count;
}

type Piece = { readonly bytes: Buffer; readonly isMatch: boolean };

/** A file as what is wanted and what is between, from left to right. */
async function* piecesOf(file: FileHandle, wanted: Buffer): AsyncGenerator<Piece, void, void> {
	let rest: Buffer = Buffer.alloc(0);
	for (let position = 0; ; ) {
		const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, position);
		position += bytesRead;
		rest = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
		let from = 0;
		for (let at = rest.indexOf(wanted); at >= 0; at = rest.indexOf(wanted, from)) {
			if (at > from) yield { bytes: rest.subarray(from, at), isMatch: false };
			yield { bytes: wanted, isMatch: true };
			from = at + wanted.length;
		}
		// The end may be the beginning of what is wanted.
		const isOver = bytesRead === 0;
		const end = isOver ? rest.length : Math.max(from, rest.length - wanted.length + 1);
		if (end > from) yield { bytes: rest.subarray(from, end), isMatch: false };
		if (isOver) return;
		rest = rest.subarray(end);
	}
}
