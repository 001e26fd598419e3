/**
 * New content of a file, written beside it so that it can replace the file by a rename.
 *
 * Each spool is noted in our own directory until it is gone. The next start removes what a crash left.
 */

import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readFile, unlink, writeFile } from "node:fs/promises";
import { type BytePath, baseOf, fromBytes, fromText, join, onDisk } from "./byte-path.ts";
import { codeOf } from "./errors.ts";

const PREFIX = ".hawser-new-";
/** Suffix of content stored in our own directory, because the destination is unknown or not writable. */
const CONTENT = ".content";

/** Errors of directories that are not writable although a file in them may be. */
const closedDirectory: ReadonlySet<string | undefined> = new Set(["EACCES", "EPERM", "EROFS"]);

export class Spools {
	readonly #directory: string;
	readonly #newUuid: () => string;
	readonly #ready: Promise<void>;

	/** Removes leftovers of the previous server. Two servers must not share a directory. */
	constructor(directory: string, newUuid: () => string) {
		this.#directory = directory;
		this.#newUuid = newUuid;
		this.#ready = this.#sweep();
		this.#ready.catch(() => {});
	}

	/** Creates a file in `near`, or in our own directory. With `isPrivate` only its owner may read it. */
	async create(near: BytePath | undefined, isPrivate: boolean): Promise<Spool> {
		await this.#ready;
		const id = this.#newUuid();
		const note = `${this.#directory}/${id}`;
		const mode = isPrivate ? 0o600 : 0o777;
		if (near !== undefined) {
			const path = join(near, `${PREFIX}${id}` as BytePath);
			await writeFile(note, onDisk(path));
			try {
				return new Spool(path, note, await openNew(path, mode));
			} catch (error) {
				await unlink(note);
				if (!closedDirectory.has(codeOf(error))) throw error;
			}
		}
		const path = fromText(`${note}${CONTENT}`);
		return new Spool(path, undefined, await openNew(path, mode));
	}

	async #sweep(): Promise<void> {
		await mkdir(this.#directory, { recursive: true, mode: 0o700 });
		for (const name of await readdir(this.#directory)) {
			const path = `${this.#directory}/${name}`;
			if (!name.endsWith(CONTENT)) {
				const left = fromBytes(await readFile(path));
				if (baseOf(left) === `${PREFIX}${name}`) await unlink(onDisk(left)).catch(() => {});
			}
			await unlink(path);
		}
	}
}

export class Spool {
	readonly path: BytePath;
	readonly file: FileHandle;
	readonly #note: string | undefined;

	constructor(path: BytePath, note: string | undefined, file: FileHandle) {
		this.path = path;
		this.#note = note;
		this.file = file;
	}

	async write(bytes: Buffer): Promise<void> {
		for (let at = 0; at < bytes.length; ) at += (await this.file.write(bytes, at)).bytesWritten;
	}

	/** Must be called in the end, renamed or not. Never rejects. */
	async dispose(): Promise<void> {
		await this.file.close().catch(() => {});
		await unlink(onDisk(this.path)).catch(() => {});
		if (this.#note !== undefined) await unlink(this.#note).catch(() => {});
	}
}

function openNew(path: BytePath, mode: number): Promise<FileHandle> {
	const { O_CREAT, O_EXCL, O_RDWR } = constants;
	return open(onDisk(path), O_CREAT | O_EXCL | O_RDWR, mode);
}
