/**
 * Lines of JSON that outlive the process, the newest so many bytes of them. A line is with the kernel when `append`
 * resolves, so that a process that is killed forgets none; the disk is not waited for, so that a power cut may take the
 * last seconds. What a write that failed left of itself is taken away again: a line is whole or not there.
 */

import { type FileHandle, mkdir, open, stat, unlink } from "node:fs/promises";
import { type LineFile, lineFileIn, listLineFiles, readLines } from "./line-files.ts";

/** How many files make up a history: the oldest is dropped for one more. */
const MAX_FILES = 8;

type LineHistoryOptions = {
	readonly directory: string;
	/** What its files are called. */
	readonly name: string;
	/** Of all files together, but for the last lines of each; four times a head, where that is more. */
	readonly maxBytes: number;
	/** Hears of what can't be read, or dropped. */
	readonly report: (problem: unknown) => void;
};

/** `head` is how long its first line is. */
type Opened = { readonly handle: FileHandle; size: number; head: number };

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
		let newest: { readonly file: LineFile; readonly head: number; readonly end: number } | undefined;
		try {
			await mkdir(options.directory, { recursive: true, mode: 0o700 });
			for (const file of await listLineFiles(options.directory, options.name)) {
				newest = { file, ...(await readInto(kept, file, options.report)) };
			}
			const history = new LineHistory(options, kept, newest?.file.number ?? 0);
			if (newest) history.#file = await openAt(newest.file, newest);
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
		// At least half of a file is what comes after its head, however long that is.
		if (!this.#file || this.#file.size >= Math.max(maxBytes / MAX_FILES, 2 * this.#file.head)) await this.#begin();
		const file = this.#file;
		if (!file) return;
		const first = file.size === 0 ? encode([head()]) : undefined;
		if (first) {
			file.head = first.byteLength;
			await this.#makeRoom(file.head);
		}
		const bytes = first ? Buffer.concat([first, encode(lines)]) : encode(lines);
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
		const { directory, name } = this.#options;
		await mkdir(directory, { recursive: true, mode: 0o700 });
		const begun = await openAt(lineFileIn(directory, name, this.#number + 1), { head: 0, end: 0 });
		await this.#file?.handle.close();
		this.#file = begun;
		this.#number++;
		this.#isTorn = false;
	}

	/** For the newest file, which has such a head: the oldest go, but never the one before it. */
	async #makeRoom(head: number): Promise<void> {
		const { directory, name, maxBytes, report } = this.#options;
		const before = (await listLineFiles(directory, name)).slice(0, -1).reverse();
		let total = 2 * head;
		for (const [index, { path }] of before.entries()) {
			total += (await stat(path)).size;
			if (index > 0 && (index >= MAX_FILES - 1 || total > maxBytes)) await unlink(path).catch(report);
		}
	}
}

function encode(lines: readonly unknown[]): Buffer {
	return Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

/** Opens a file to go on at a place; what is behind it is no whole line. */
async function openAt({ path }: LineFile, { head, end }: Extent): Promise<Opened> {
	const handle = await open(path, "a", 0o600);
	try {
		if ((await handle.stat()).size > end) await handle.truncate(end);
		return { handle, size: end, head };
	} catch (error) {
		await handle.close();
		throw error;
	}
}

/** Where the first line of a file ends, and where the last. */
type Extent = { readonly head: number; readonly end: number };

/** The lines of a file up to the first that is none. */
async function readInto(lines: unknown[], { path }: LineFile, report: LineHistoryOptions["report"]): Promise<Extent> {
	let head = 0;
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
		head ||= end;
	}
	return { head, end };
}
