/** Numbered files of lines, each the continuation of the one before. */

import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

const LINE_FEED = 0x0a;

export type LineFile = { readonly number: number; readonly path: string };

/** `name` is the common prefix of the files. */
export function lineFileIn(directory: string, name: string, number: number): LineFile {
	return { number, path: join(directory, `${name}-${String(number).padStart(6, "0")}.jsonl`) };
}

/** Oldest first. Empty if the directory does not exist. */
export async function listLineFiles(directory: string, name: string): Promise<LineFile[]> {
	const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
		if (error.code === "ENOENT") return [];
		throw error;
	});
	const pattern = new RegExp(`^${name}-(\\d{6,})\\.jsonl$`);
	return names
		.flatMap((found) => pattern.exec(found)?.[1] ?? [])
		.map((digits) => lineFileIn(directory, name, Number(digits)))
		.sort((a, b) => a.number - b.number);
}

type RawLine = {
	/** Without its line feed. */
	readonly bytes: Buffer;
	/** Whether it ends with a line feed. Only the last line of a file may lack it. */
	readonly isWhole: boolean;
	/** Position of the next line. */
	readonly end: number;
};

export async function* readLines(path: string): AsyncGenerator<RawLine, void, void> {
	/** Parts of an incomplete line. They are joined once, so that a long line is not slower than many short ones. */
	let parts: Buffer[] = [];
	let end = 0;
	for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
		let from = 0;
		for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
			const bytes = Buffer.concat([...parts, chunk.subarray(from, at)]);
			parts = [];
			from = at + 1;
			end += bytes.byteLength + 1;
			yield { bytes, isWhole: true, end };
		}
		if (from < chunk.byteLength) parts.push(chunk.subarray(from));
	}
	const bytes = Buffer.concat(parts);
	if (bytes.byteLength > 0) yield { bytes, isWhole: false, end: end + bytes.byteLength };
}
