/**
 * The audit files as their only writer uses them. Lines are appended to the newest file; a full file is followed by a new
 * one. The remains of a failed write are removed, so that each line is complete or missing.
 */

import { type FileHandle, open, unlink } from "node:fs/promises";
import { type LineFile, lineFileIn, listLineFiles, readLines } from "../disk/line-files.ts";
import { makePrivateDirectory } from "../disk/private-directory.ts";
import { breakBetween, type ChainHead, decodeLine, encodeLine, GENESIS } from "./chained-line.ts";

/**
 * Number of files. One more removes the oldest.
 * @limit files of the audit | the oldest is dropped, and an entry says so
 */
const MAX_FILES = 16;
/** Smallest size of a file, so that entries about files stay rare. */
const MIN_FILE_BYTES = 16 * 1024;

type AuditFilesOptions = {
	readonly directory: string;
	/** Limit for all files together. */
	readonly maxBytes: number;
	readonly now: () => number;
	/** Reports files that can't be removed. */
	readonly report: (problem: unknown) => void;
};

/** A line without its position in the chain. */
export type Content = { readonly time: number; readonly action: string; readonly [field: string]: unknown };

export class AuditFiles {
	readonly #options: AuditFilesOptions;
	readonly #fileBytes: number;
	#file: LineFile;
	#handle: FileHandle;
	#size: number;
	#head: ChainHead;
	#isSynced = true;
	/** Whether a failed write may have left an incomplete line at the end. */
	#isTorn = false;
	/** Entries about problems found on opening, to be written first. */
	readonly #found: Content[];
	/** Time of the last line of earlier servers; undefined if there is none. */
	readonly lastTime: number | undefined;

	/** Continues an existing record. An incomplete last line is removed, and an entry says so. */
	static async open(options: AuditFilesOptions): Promise<AuditFiles> {
		await makePrivateDirectory(options.directory);
		const files = await listFiles(options.directory);
		const newest = files.at(-1);
		const end = await endOf(files);
		const found: Content[] = [];
		// A damaged file stays as it is, as evidence.
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

	get head(): ChainHead {
		return this.#head;
	}

	/** A problem with the existing files. */
	get fault(): string | undefined {
		const broken = this.#found.find(({ action }) => action === "broken");
		return broken && String(broken.message);
	}

	/** Appends as many lines as the newest file takes, and returns their number. If it rejects, none was added. */
	async append(contents: readonly Content[]): Promise<number> {
		if (this.#size >= this.#fileBytes) await this.#begin();
		if (this.#found.length > 0) await this.#write(this.#found);
		this.#found.length = 0;
		return this.#write(contents);
	}

	/** Syncs the file, and detects its removal, which writing does not reveal. */
	async sync(): Promise<void> {
		if (this.#isSynced) return;
		this.#isSynced = true;
		await this.#handle.datasync();
		if ((await this.#handle.stat()).nlink === 0) await this.#replace();
	}

	async close(): Promise<void> {
		await this.sync().finally(() => this.#handle.close());
	}

	/** The last line may exceed the size of a file, so that one line always fits. */
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
		// Remove an incomplete line first. If this process never does, the next one will.
		if (this.#isTorn) await this.#handle.truncate(this.#size);
		this.#isTorn = true;
		for (let at = 0; at < bytes.byteLength; ) at += (await this.#handle.write(bytes, at)).bytesWritten;
		this.#isTorn = false;
		this.#isSynced = false;
		this.#size = size;
		this.#head = link;
		return lines.length;
	}

	/** Continues the chain of a removed file in a new one, so that the missing lines are visible. */
	async #replace(): Promise<void> {
		const { directory, now, report } = this.#options;
		const { path, number } = this.#file;
		report(new Error(`${path} was removed by another program; its entries are lost`));
		await makePrivateDirectory(directory);
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

	/** Starts the next file. The oldest is removed only after an entry about that is on disk. */
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

/** The end of a record: its last line and the position in its newest file, or what is wrong with it. */
type End = {
	readonly link: ChainHead;
	readonly bytes: number;
	readonly time: number | undefined;
	readonly fault?: string;
};

async function endOf(files: readonly LineFile[]): Promise<End> {
	const newest = files.at(-1);
	if (!newest) return { link: GENESIS, bytes: 0, time: undefined };
	let end: End | undefined;
	for await (const { bytes, isWhole, end: position } of readLines(newest.path)) {
		if (!isWhole) break;
		const line = decodeLine(bytes);
		const fault = typeof line === "string" ? line : end && breakBetween(end.link, line);
		if (typeof line === "string" || fault !== undefined) {
			return { ...(end ?? (await endOf(files.slice(0, -1)))), fault: fault ?? "it has no valid line" };
		}
		end = { link: { seq: line.seq, hash: line.hash }, bytes: position, time: line.time };
	}
	// The newest file has no lines yet, so the record ends in the one before.
	return end ?? { ...(await endOf(files.slice(0, -1))), bytes: 0 };
}

/** The line before a file's first one. */
async function beforeFirst({ path }: LineFile): Promise<ChainHead | undefined> {
	for await (const { bytes } of readLines(path)) {
		const line = decodeLine(bytes);
		return typeof line === "string" ? undefined : { seq: line.seq - 1, hash: line.prev };
	}
	return undefined;
}

const NAME = "audit";

function fileIn(directory: string, number: number): LineFile {
	return lineFileIn(directory, NAME, number);
}

/** Oldest first. Empty if the directory does not exist. */
export function listFiles(directory: string): Promise<LineFile[]> {
	return listLineFiles(directory, NAME);
}
