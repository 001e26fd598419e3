/**
 * Stores screen snapshots taken along the log. An earlier screen is rendered from the nearest snapshot before it and the
 * output after that.
 *
 * Snapshots are a cache. The file next to the journal has one line per snapshot and is written by the server only.
 * Incomplete or invalid lines are skipped.
 */

import { createHash } from "node:crypto";
import { appendFile, open } from "node:fs/promises";
import { Serial } from "../../async/serial.ts";
import type { LogPosition, OffsetOrTime } from "../../core/log/event.ts";
import { writeAtomically } from "../../disk/write-atomically.ts";
import type { Size } from "../../words/state.ts";

/**
 * Snapshots on disk, and in memory for a session without a journal.
 * @limit checkpoints of a screen on disk | the oldest are dropped; older ones are at least 1 MiB apart
 */
const KEPT_ON_DISK = 64;
/** @limit checkpoints of a session without a journal | the oldest are dropped */
const KEPT_IN_MEMORY = 8;
/** The newest snapshots on disk may be close to each other. Older ones are at least this many output bytes apart. */
const KEPT_DENSE = 16;
const SPARSE_BYTES = 1024 * 1024;
/** Number of additional snapshots before the file is rewritten. */
const SLACK = 64;
/**
 * Bytes of one file, and of a session's snapshots in memory. 128 usual ones take 2 MiB. At the limit the oldest are dropped.
 * @limit checkpoints of one session | the oldest are dropped
 */
export const MAX_CHECKPOINTS_BYTES: number = 8 * 1024 * 1024;
/**
 * Bytes of one snapshot; a larger one is not stored. In base64 it fits into half of a file.
 * @limit one checkpoint | it is not kept; the screen is rendered from an older one
 */
export const MAX_SNAPSHOT_BYTES: number = 2 * 1024 * 1024;
/** Bytes read at a time when a file is scanned. */
const READ_BYTES = 64 * 1024;

export type Checkpoint = LogPosition &
	Size & {
		/** Time of the last event before it, in milliseconds since the epoch. */
		readonly time: number;
		readonly snapshot: Uint8Array;
	};

export interface Checkpoints {
	add(checkpoint: Checkpoint): Promise<void>;
	/** The last snapshot at or before a position. Snapshots after `end` may belong to another log and are ignored. */
	nearest(position: OffsetOrTime, end: LogPosition): Promise<Checkpoint | undefined>;
}

export class MemoryCheckpoints implements Checkpoints {
	#kept: Checkpoint[] = [];

	async add(checkpoint: Checkpoint): Promise<void> {
		if (checkpoint.snapshot.byteLength > MAX_SNAPSHOT_BYTES) return;
		const kept = [...this.#kept, checkpoint].slice(-KEPT_IN_MEMORY);
		this.#kept = newestWithin(kept, MAX_CHECKPOINTS_BYTES, ({ snapshot }) => snapshot.byteLength);
	}

	async nearest(position: OffsetOrTime, end: LogPosition): Promise<Checkpoint | undefined> {
		return nearestFirst(this.#kept, position, end)[0];
	}
}

/** Index entry for a line of the file. */
type Entry = Place & { readonly at: number; readonly length: number };

export class FileCheckpoints implements Checkpoints {
	readonly #path: string;
	/** The index of the file, once it was read, and the size of the file with invalid lines. */
	#known: { readonly entries: readonly Entry[]; readonly size: number } | undefined;
	/** Serializes access to the file. */
	readonly #accesses = new Serial();

	constructor(path: string) {
		this.#path = path;
	}

	/** Rejects on a write error, which does no harm to the cache. */
	add(checkpoint: Checkpoint): Promise<void> {
		return this.#accesses.run(async () => {
			if (checkpoint.snapshot.byteLength > MAX_SNAPSHOT_BYTES) return;
			const { entries, size } = await this.#read();
			// A crash may have left an incomplete line, so start a new one.
			const line = `\n${toLine(checkpoint)}`;
			const isFull = entries.length >= KEPT_ON_DISK + SLACK || size + line.length > MAX_CHECKPOINTS_BYTES;
			// A failed write may leave a partial line.
			this.#known = undefined;
			if (isFull) {
				await this.#writeAnew(entries, line);
				return;
			}
			await appendFile(this.#path, line, { mode: 0o600 });
			const { seq, offset, time } = checkpoint;
			const added = { seq, offset, time, at: size + 1, length: line.length - 2 };
			this.#known = { entries: [...entries, added], size: size + line.length };
		});
	}

	/** Reads only the matching line. */
	nearest(position: OffsetOrTime, end: LogPosition): Promise<Checkpoint | undefined> {
		return this.#accesses.run(async () => {
			const { entries } = await this.#read();
			for (const entry of nearestFirst(entries, position, end)) {
				const checkpoint = fromLine(await readLines(this.#path, [entry]).catch(() => ""));
				if (checkpoint) return checkpoint;
			}
			return undefined;
		});
	}

	/** Rewrites the file with fewer old snapshots and at most half full, so that rewrites are rare. */
	async #writeAnew(entries: readonly Entry[], line: string): Promise<void> {
		const room = MAX_CHECKPOINTS_BYTES / 2 - line.length;
		const kept = newestWithin(thinned(entries), room, ({ length }) => length + 1);
		await writeAtomically(this.#path, (await readLines(this.#path, kept)) + line);
	}

	async #read(): Promise<{ readonly entries: readonly Entry[]; readonly size: number }> {
		this.#known ??= await readEntries(this.#path);
		return this.#known;
	}
}

/** Reads the index of a file. A file that is too large was written by an older version and is rewritten later. */
async function readEntries(path: string): Promise<{ readonly entries: readonly Entry[]; readonly size: number }> {
	const file = await open(path, "r").catch(() => undefined);
	if (!file) return { entries: [], size: 0 };
	try {
		const { size } = await file.stat();
		if (size > MAX_CHECKPOINTS_BYTES) return { entries: [], size };
		const entries: Entry[] = [];
		let start = 0;
		let head = "";
		const note = (end: number) => {
			const [, seq, offset, time] = HEADER.exec(head) ?? [];
			const position = { seq: Number(seq), offset: Number(offset), time: Number(time) };
			if (seq !== undefined) entries.push({ ...position, at: start, length: end - start });
			start = end + 1;
			head = "";
		};
		const buffer = Buffer.allocUnsafe(READ_BYTES);
		for (let at = 0; at < size; ) {
			const { bytesRead } = await file.read(buffer, 0, Math.min(READ_BYTES, size - at), at);
			if (bytesRead === 0) break;
			const part = buffer.subarray(0, bytesRead);
			for (let from = 0; from < bytesRead; ) {
				const newline = part.indexOf(NEWLINE, from);
				const to = newline < 0 ? bytesRead : newline;
				head += part.toString("latin1", from, Math.min(to, from + MAX_HEADER_BYTES - head.length));
				if (newline >= 0) note(at + newline);
				from = to + 1;
			}
			at += bytesRead;
		}
		return { entries, size };
	} finally {
		await file.close();
	}
}

async function readLines(path: string, entries: readonly Entry[]): Promise<string> {
	const file = await open(path, "r");
	try {
		let text = "";
		for (const { at, length } of entries) {
			const line = Buffer.allocUnsafe(length);
			const { bytesRead } = await file.read(line, 0, length, at);
			text += `${line.toString("latin1", 0, bytesRead)}\n`;
		}
		return text;
	} finally {
		await file.close();
	}
}

type Place = LogPosition & { readonly time: number };

function nearestFirst<One extends Place>(all: readonly One[], position: OffsetOrTime, end: LogPosition): One[] {
	const isBefore = (at: One) =>
		at.seq <= end.seq &&
		at.offset <= end.offset &&
		("offset" in position ? at.offset <= position.offset : at.time <= position.time);
	return all.filter(isBefore).sort((a, b) => b.seq - a.seq);
}

/** The newest ones that fit into this many bytes. */
function newestWithin<One>(all: readonly One[], bytes: number, sizeOf: (one: One) => number): One[] {
	let left = bytes;
	let first = all.length;
	for (const one of all.toReversed()) {
		left -= sizeOf(one);
		if (left < 0) break;
		first--;
	}
	return all.slice(first);
}

/** The newest, then at most one per interval: older screens are requested less often and may take longer. */
function thinned<One extends Place>(all: readonly One[]): One[] {
	const kept: One[] = [];
	for (const one of all.toReversed()) {
		const distance = (kept.at(-1)?.offset ?? Number.POSITIVE_INFINITY) - one.offset;
		if (kept.length < KEPT_DENSE || distance >= SPARSE_BYTES) kept.push(one);
		if (kept.length === KEPT_ON_DISK) break;
	}
	return kept.reverse();
}

const NEWLINE = 0x0a;
/** Header of a line, and its maximum length. */
const MAX_HEADER_BYTES = 128;
const HEADER = /^\{"seq":(\d+),"offset":(\d+),"time":(\d+(?:\.\d+)?),/;

type Line = Omit<Checkpoint, "snapshot"> & { readonly snapshot: string; readonly digest: string };

function toLine({ seq, offset, time, cols, rows, snapshot }: Checkpoint): string {
	const content = { seq, offset, time, cols, rows, snapshot: Buffer.from(snapshot).toString("base64") };
	return `${JSON.stringify({ ...content, digest: digestOf(content) })}\n`;
}

function fromLine(line: string): Checkpoint | undefined {
	try {
		const { digest, ...content } = JSON.parse(line) as Line;
		if (digest !== digestOf(content)) return undefined;
		return { ...content, snapshot: Buffer.from(content.snapshot, "base64") };
	} catch {
		return undefined;
	}
}

/** Detects disk errors; it is not a protection against forgery. */
function digestOf({ seq, offset, time, cols, rows, snapshot }: Omit<Line, "digest">): string {
	const content = JSON.stringify([seq, offset, time, cols, rows, snapshot]);
	return createHash("sha256").update(content).digest("base64url").slice(0, 16);
}
