/**
 * JSON lines that outlive the process, limited in size. `append` resolves when the kernel has the lines, so a killed
 * process loses none. It does not sync, so a power cut may lose the last seconds. The rest of a failed write is
 * removed: a line is complete or missing.
 */

import { type FileHandle, open, stat, unlink } from "node:fs/promises";
import { type LineFile, lineFileIn, listLineFiles, readLines } from "./line-files.ts";
import { makePrivateDirectory } from "./private-directory.ts";

/**
 * Number of files in a history. One more removes the oldest.
 * @limit files of the event feed | the oldest is dropped
 */
const MAX_FILES = 8;

type LineHistoryOptions = {
	readonly directory: string;
	/** Prefix of its file names. */
	readonly name: string;
	/** Limit for all files together, except for the last lines of each; at least four times a head. */
	readonly maxBytes: number;
	/** Reports files that can't be read or removed. */
	readonly report: (problem: unknown) => void;
};

/** `head` is the length of the first line. */
type Opened = { readonly handle: FileHandle; size: number; head: number };

export class LineHistory {
	readonly #options: LineHistoryOptions;
	/** The lines found when it was opened, oldest first. */
	readonly kept: readonly unknown[];
	#file: Opened | undefined;
	/** Number of the newest file. */
	#number: number;
	/** Whether a failed write may have left an incomplete line at the end. */
	#isTorn = false;

	/**
	 * Never rejects, because a server must start whatever happened to its disk. Unreadable parts are skipped and
	 * reported.
	 */
	static async open(options: LineHistoryOptions): Promise<LineHistory> {
		const kept: unknown[] = [];
		let newest: { readonly file: LineFile; readonly head: number; readonly end: number } | undefined;
		try {
			await makePrivateDirectory(options.directory);
			for (const file of await listLineFiles(options.directory, options.name)) {
				newest = { file, ...(await readInto(kept, file, options.report)) };
			}
			const history = new LineHistory(options, kept, newest?.file.number ?? 0);
			if (newest) history.#file = await openAt(newest.file, newest);
			return history;
		} catch (error) {
			options.report(new Error(`can't continue the history in ${options.directory}`, { cause: error }));
			return new LineHistory(options, kept, newest?.file.number ?? 0);
		}
	}

	private constructor(options: LineHistoryOptions, kept: readonly unknown[], number: number) {
		this.#options = options;
		this.kept = kept;
		this.#number = number;
	}

	/**
	 * Appends lines. `head` makes the first line of a new file, so that older files can be removed. If it rejects, no
	 * line was added.
	 */
	async append(lines: readonly unknown[], head: () => unknown): Promise<void> {
		const { maxBytes } = this.#options;
		// At least half of a file comes after its head, however long that is.
		if (!this.#file || this.#file.size >= Math.max(maxBytes / MAX_FILES, 2 * this.#file.head)) await this.#begin();
		const file = this.#file;
		if (!file) return;
		const first = file.size === 0 ? encode([head()]) : undefined;
		if (first) {
			file.head = first.byteLength;
			await this.#makeRoom(file.head);
		}
		const bytes = first ? Buffer.concat([first, encode(lines)]) : encode(lines);
		// Remove an incomplete line first. If this process never does, the next one will.
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
		await makePrivateDirectory(directory);
		const begun = await openAt(lineFileIn(directory, name, this.#number + 1), { head: 0, end: 0 });
		await this.#file?.handle.close();
		this.#file = begun;
		this.#number++;
		this.#isTorn = false;
	}

	/** Removes the oldest files to make room for a newest file with a head of this size, but never the file before it. */
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

/** Opens a file to append at a position. The bytes after it are not a complete line. */
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

/** Ends of the first and the last line of a file. */
type Extent = { readonly head: number; readonly end: number };

/** Reads the lines of a file up to the first invalid one. */
async function readInto(lines: unknown[], { path }: LineFile, report: LineHistoryOptions["report"]): Promise<Extent> {
	let head = 0;
	let end = 0;
	for await (const line of readLines(path)) {
		// The process was killed while it wrote this line.
		if (!line.isWhole) break;
		try {
			lines.push(JSON.parse(line.bytes.toString()));
		} catch (error) {
			report(new Error(`${path} is damaged from byte ${end} on`, { cause: error }));
			break;
		}
		end = line.end;
		head ||= end;
	}
	return { head, end };
}
