/**
 * Lines of JSON that outlive the process, the newest so many bytes of them. A line is with the kernel when `append`
 * resolves, so that a process that is killed forgets none; the disk is not waited for, so that a power cut may take the
 * last seconds. What a write that failed left of itself is taken away again: a line is whole or not there.
 */

import { type FileHandle, mkdir, open, unlink } from "node:fs/promises";
import { type LineFile, lineFileIn, listLineFiles, readLines } from "./line-files.ts";

/** How many files make up a history: the oldest is dropped for one more. */
const MAX_FILES = 8;

export type LineHistoryOptions = {
	readonly directory: string;
	/** What its files are called. */
	readonly name: string;
	/** Of all files together, but for the last lines of each. */
	readonly maxBytes: number;
	/** Hears of what can't be read, or dropped. */
	readonly report: (problem: unknown) => void;
};

type Opened = { readonly handle: FileHandle; size: number };

export class LineHistory {
	readonly #options: LineHistoryOptions;
	/** What was there when it was opened, oldest first. */
	readonly kept: readonly unknown[];
	#file: Opened | undefined;
	/** Of the newest file there is. */
	#number: number;
	/** Whether a write that failed may have left a part of itself after what counts. */
	#isTorn = false;

	/** Never rejects: a server must start whatever became of its disk. What can't be read is left out, and said. */
	static async open(options: LineHistoryOptions): Promise<LineHistory> {
		const kept: unknown[] = [];
		let newest: { readonly file: LineFile; readonly end: number } | undefined;
		try {
			await mkdir(options.directory, { recursive: true, mode: 0o700 });
			for (const file of await listLineFiles(options.directory, options.name)) {
				newest = { file, end: await readInto(kept, file, options.report) };
			}
			const history = new LineHistory(options, kept, newest?.file.number ?? 0);
			if (newest) history.#file = await openAt(newest.file, newest.end);
			return history;
		} catch (error) {
			options.report(new Error(`what was kept in ${options.directory} can't be gone on with`, { cause: error }));
			return new LineHistory(options, kept, newest?.file.number ?? 0);
		}
	}

	private constructor(options: LineHistoryOptions, kept: readonly unknown[], number: number) {
		this.#options = options;
		this.kept = kept;
		this.#number = number;
	}

	/** Adds lines; `head` is what a new file begins with, so that those before it can go. None was added when it rejects. */
	async append(lines: readonly unknown[], head: () => unknown): Promise<void> {
		const { maxBytes } = this.#options;
		if (!this.#file || this.#file.size >= maxBytes / MAX_FILES) await this.#begin();
		const file = this.#file;
		if (!file) return;
		const all = file.size === 0 ? [head(), ...lines] : lines;
		const bytes = Buffer.from(all.map((line) => `${JSON.stringify(line)}\n`).join(""));
		// Before anything is added after half a line; if we never get to it, the next process does.
		if (this.#isTorn) await file.handle.truncate(file.size);
		this.#isTorn = true;
		for (let at = 0; at < bytes.byteLength; ) at += (await file.handle.write(bytes, at)).bytesWritten;
		this.#isTorn = false;
		file.size += bytes.byteLength;
	}

	async close(): Promise<void> {
		await this.#file?.handle.close();
		this.#file = undefined;
	}

	async #begin(): Promise<void> {
		const { directory, name, report } = this.#options;
		await mkdir(directory, { recursive: true, mode: 0o700 });
		const begun = await openAt(lineFileIn(directory, name, this.#number + 1), 0);
		await this.#file?.handle.close();
		this.#file = begun;
		this.#number++;
		this.#isTorn = false;
		const files = await listLineFiles(directory, name);
		for (const { path } of files.slice(0, -MAX_FILES)) await unlink(path).catch(report);
	}
}

/** Opens a file to go on at a place; what is behind it is no whole line. */
async function openAt({ path }: LineFile, end: number): Promise<Opened> {
	const handle = await open(path, "a", 0o600);
	try {
		if ((await handle.stat()).size > end) await handle.truncate(end);
		return { handle, size: end };
	} catch (error) {
		await handle.close();
		throw error;
	}
}

/** The lines of a file up to the first that is none; where that begins. */
async function readInto(lines: unknown[], { path }: LineFile, report: LineHistoryOptions["report"]): Promise<number> {
	let end = 0;
	for await (const line of readLines(path)) {
		// The process that wrote it was killed then.
		if (!line.isWhole) break;
		try {
			lines.push(JSON.parse(line.bytes.toString()));
		} catch (error) {
			report(new Error(`${path} is not as it was written from byte ${end} on`, { cause: error }));
			break;
		}
		end = line.end;
	}
	return end;
}
