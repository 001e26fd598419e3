/**
 * The files of a record as their one writer has them: lines are added to the newest, and a new one is begun when that
 * is full. What a write that failed left of itself is taken away again, so that a line is whole or not there.
 */

import { type FileHandle, mkdir, open, unlink } from "node:fs/promises";
import { type LineFile, readLines } from "../disk/line-files.ts";
import { fileIn, listFiles } from "./files.ts";
import { breakBetween, decodeLine, encodeLine, GENESIS, type Link } from "./line.ts";

/** How many files make up the record: the oldest is dropped for one more. */
const MAX_FILES = 16;
/** A file is never smaller, so that the lines about files are few among the others. */
const MIN_FILE_BYTES = 16 * 1024;

type AuditFilesOptions = {
	readonly directory: string;
	/** Of all files together. */
	readonly maxBytes: number;
	readonly now: () => number;
	/** Hears of files that can't be dropped. */
	readonly report: (problem: unknown) => void;
};

/** What goes into a line besides its place in the chain. */
export type Content = { readonly time: number; readonly action: string; readonly [field: string]: unknown };

export class AuditFiles {
	readonly #options: AuditFilesOptions;
	readonly #fileBytes: number;
	#file: LineFile;
	#handle: FileHandle;
	#size: number;
	#head: Link;
	#isSynced = true;
	/** Whether a write that failed may have left a part of itself after what counts. */
	#isTorn = false;
	/** What was found when it was opened, and must be said first. */
	readonly #found: Content[];
	/** When the last line was written that was there before; undefined if there was none. */
	readonly lastTime: number | undefined;

	/** Goes on where the record ends. A line that was not written to its end is taken away, and that is said. */
	static async open(options: AuditFilesOptions): Promise<AuditFiles> {
		await mkdir(options.directory, { recursive: true, mode: 0o700 });
		const files = await listFiles(options.directory);
		const newest = files.at(-1);
		const end = await endOf(files);
		const found: Content[] = [];
		// What is wrong stays as it is, for whoever wants to know what was done to it.
		const isBroken = end.fault !== undefined;
		const file = newest && !isBroken ? newest : fileIn(options.directory, (newest?.number ?? 0) + 1);
		if (isBroken) found.push({ time: options.now(), action: "broken", message: `${newest?.path}: ${end.fault}` });
		const handle = await open(file.path, "a", 0o600);
		try {
			const { size } = await handle.stat();
			if (size > end.bytes && !isBroken) {
				await handle.truncate(end.bytes);
				found.push({ time: options.now(), action: "repaired", bytes: size - end.bytes });
			}
			return new AuditFiles(options, { file, handle, end, found });
		} catch (error) {
			await handle.close();
			throw error;
		}
	}

	private constructor(
		options: AuditFilesOptions,
		opened: { file: LineFile; handle: FileHandle; end: End; found: Content[] },
	) {
		this.#options = options;
		this.#fileBytes = Math.max(MIN_FILE_BYTES, Math.floor(options.maxBytes / MAX_FILES));
		this.#file = opened.file;
		this.#handle = opened.handle;
		this.#size = opened.end.fault === undefined ? opened.end.bytes : 0;
		this.#head = opened.end.link;
		this.#found = opened.found;
		this.lastTime = opened.end.time;
	}

	get head(): Link {
		return this.#head;
	}

	/** Whether something is wrong with what was there before. */
	get fault(): string | undefined {
		const broken = this.#found.find(({ action }) => action === "broken");
		return broken && String(broken.message);
	}

	/** Adds lines, as many as the newest file takes; how many that were. None when it rejects. */
	async append(contents: readonly Content[]): Promise<number> {
		if (this.#size >= this.#fileBytes) await this.#begin();
		if (this.#found.length > 0) await this.#write(this.#found);
		this.#found.length = 0;
		return this.#write(contents);
	}

	/** The disk confirms what was written; and nobody has taken the file away, which writing to it would not show. */
	async sync(): Promise<void> {
		if (this.#isSynced) return;
		this.#isSynced = true;
		await this.#handle.datasync();
		if ((await this.#handle.stat()).nlink === 0) await this.#replace();
	}

	async close(): Promise<void> {
		await this.sync().finally(() => this.#handle.close());
	}

	/** The last line may go beyond the end of a file, so that there is always room for one. */
	async #write(contents: readonly Content[]): Promise<number> {
		let link = this.#head;
		const lines: Buffer[] = [];
		let size = this.#size;
		for (const content of contents) {
			if (size >= this.#fileBytes && lines.length > 0) break;
			const line = encodeLine(content, link);
			const bytes = Buffer.from(line.text);
			lines.push(bytes);
			size += bytes.byteLength;
			link = line.link;
		}
		const bytes = Buffer.concat(lines);
		// Before anything is added after half a line; if we never get to it, the next server does.
		if (this.#isTorn) await this.#handle.truncate(this.#size);
		this.#isTorn = true;
		for (let at = 0; at < bytes.byteLength; ) at += (await this.#handle.write(bytes, at)).bytesWritten;
		this.#isTorn = false;
		this.#isSynced = false;
		this.#size = size;
		this.#head = link;
		return lines.length;
	}

	/** Goes on in a new file with the chain of the one that is gone, so that it shows that lines are missing. */
	async #replace(): Promise<void> {
		const { directory, now, report } = this.#options;
		const { path, number } = this.#file;
		report(new Error(`somebody removed ${path}, and with it what was recorded there`));
		await mkdir(directory, { recursive: true, mode: 0o700 });
		await this.#open(fileIn(directory, number + 1));
		this.#found.push({ time: now(), action: "broken", message: `${path} was removed` });
	}

	async #open(file: LineFile): Promise<void> {
		const handle = await open(file.path, "a", 0o600);
		await this.#handle.close();
		this.#file = file;
		this.#handle = handle;
		this.#size = 0;
	}

	/** Begins the next file. The oldest goes only when it is on disk that it does, and where it ended. */
	async #begin(): Promise<void> {
		await this.sync();
		await this.#open(fileIn(this.#options.directory, this.#file.number + 1));
		const files = await listFiles(this.#options.directory);
		const surplus = files.slice(0, Math.max(0, files.length - MAX_FILES));
		const next = files[surplus.length];
		if (surplus.length === 0 || next === undefined) return;
		const last = await beforeFirst(next);
		if (last === undefined) return;
		const time = this.#options.now();
		await this.#write([{ time, action: "dropped", files: surplus.length, to: last.seq, last: last.hash }]);
		await this.sync();
		for (const { path } of surplus) await unlink(path).catch(this.#options.report);
	}
}

/** How a record ends: with which line, and where in its newest file; or what is wrong with that. */
type End = {
	readonly link: Link;
	readonly bytes: number;
	readonly time: number | undefined;
	readonly fault?: string;
};

async function endOf(files: readonly LineFile[]): Promise<End> {
	const newest = files.at(-1);
	if (!newest) return { link: GENESIS, bytes: 0, time: undefined };
	let end: End | undefined;
	for await (const { bytes, isWhole, end: place } of readLines(newest.path)) {
		if (!isWhole) break;
		const line = decodeLine(bytes);
		const fault = typeof line === "string" ? line : end && breakBetween(end.link, line);
		if (typeof line === "string" || fault !== undefined) {
			return { ...(end ?? (await endOf(files.slice(0, -1)))), fault: fault ?? "it can't be read" };
		}
		end = { link: { seq: line.seq, hash: line.hash }, bytes: place, time: line.time };
	}
	// A file that was only begun: the record ends with the one before.
	return end ?? { ...(await endOf(files.slice(0, -1))), bytes: 0 };
}

/** The line before a file's first. */
async function beforeFirst({ path }: LineFile): Promise<Link | undefined> {
	for await (const { bytes } of readLines(path)) {
		const line = decodeLine(bytes);
		return typeof line === "string" ? undefined : { seq: line.seq - 1, hash: line.prev };
	}
	return undefined;
}
