/**
 * Snapshots of a screen that were taken on the way, so that the screen at a place is the nearest before it and the output
 * from there on.
 *
 * They are a cache and never the truth: a file of one line for each, beside the journal and written by the server alone.
 * A line that is not whole, or not ours, is passed over.
 */

import { createHash } from "node:crypto";
import { appendFile, readFile } from "node:fs/promises";
import type { LogPlace, Mark, Size } from "../core/event.ts";
import { writeAtomically } from "../disk/write-atomically.ts";

/** How many are kept on disk, and in memory for a session that has no journal. */
const KEPT_ON_DISK = 64;
const KEPT_IN_MEMORY = 8;
/** How many more may be in the file before it is written anew. */
const SLACK = 64;
/** Of one file, in bytes: 128 of usual ones take 2 MiB. What is larger is not read. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

export type Checkpoint = Mark &
	Size & {
		/** Of the last event before it, in milliseconds since the epoch. */
		readonly time: number;
		readonly snapshot: Uint8Array;
	};

export interface Checkpoints {
	add(checkpoint: Checkpoint): Promise<void>;
	/** The last one that is not after a place; of those before `end`, behind which there may be something of another log. */
	nearest(place: LogPlace, end: Mark): Promise<Checkpoint | undefined>;
}

export class MemoryCheckpoints implements Checkpoints {
	#kept: Checkpoint[] = [];

	async add(checkpoint: Checkpoint): Promise<void> {
		this.#kept = [...this.#kept, checkpoint].slice(-KEPT_IN_MEMORY);
	}

	async nearest(place: LogPlace, end: Mark): Promise<Checkpoint | undefined> {
		return nearest(this.#kept, place, end);
	}
}

export class FileCheckpoints implements Checkpoints {
	readonly #path: string;
	/** Lines in the file, once it was read. */
	#lines: number | undefined;
	/** What is done to the file is done one after the other. */
	#busy: Promise<unknown> = Promise.resolve();

	constructor(path: string) {
		this.#path = path;
	}

	/** Rejects when it can't be written, which is no harm. */
	add(checkpoint: Checkpoint): Promise<void> {
		return this.#next(async () => {
			const kept = this.#lines === undefined ? await this.#read() : [];
			this.#lines ??= kept.length;
			if (this.#lines >= KEPT_ON_DISK + SLACK) {
				const newest = [...(await this.#read()), checkpoint].slice(-KEPT_ON_DISK);
				await writeAtomically(this.#path, newest.map(toLine).join(""));
				this.#lines = newest.length;
				return;
			}
			// On a line of its own, whatever a crash has left of the last one.
			await appendFile(this.#path, `\n${toLine(checkpoint)}`, { mode: 0o600 });
			this.#lines++;
		});
	}

	nearest(place: LogPlace, end: Mark): Promise<Checkpoint | undefined> {
		return this.#next(async () => nearest(await this.#read(), place, end));
	}

	#next<Value>(act: () => Promise<Value>): Promise<Value> {
		const done = this.#busy.then(act, act);
		this.#busy = done.catch(() => {});
		return done;
	}

	async #read(): Promise<Checkpoint[]> {
		const text = await readFile(this.#path, "latin1").catch(() => "");
		if (text.length > MAX_FILE_BYTES) return [];
		return text.split("\n").flatMap((line) => fromLine(line) ?? []);
	}
}

function nearest(checkpoints: readonly Checkpoint[], place: LogPlace, end: Mark): Checkpoint | undefined {
	const isBefore = (at: Checkpoint) =>
		at.seq <= end.seq &&
		at.offset <= end.offset &&
		("offset" in place ? at.offset <= place.offset : at.time <= place.time);
	return checkpoints.filter(isBefore).reduce<Checkpoint | undefined>((best, one) => {
		return best === undefined || one.seq > best.seq ? one : best;
	}, undefined);
}

type Line = Omit<Checkpoint, "snapshot"> & { readonly snapshot: string; readonly digest: string };

function toLine({ seq, offset, time, cols, rows, snapshot }: Checkpoint): string {
	const content = { seq, offset, time, cols, rows, snapshot: Buffer.from(snapshot).toString("base64") };
	return `${JSON.stringify({ ...content, digest: digestOf(content) })}\n`;
}

function fromLine(line: string): Checkpoint | undefined {
	if (line === "") return undefined;
	try {
		const { digest, ...content } = JSON.parse(line) as Line;
		if (digest !== digestOf(content)) return undefined;
		return { ...content, snapshot: Buffer.from(content.snapshot, "base64") };
	} catch {
		return undefined;
	}
}

/** Not against anybody, but against what disks do. */
function digestOf({ seq, offset, time, cols, rows, snapshot }: Omit<Line, "digest">): string {
	const content = JSON.stringify([seq, offset, time, cols, rows, snapshot]);
	return createHash("sha256").update(content).digest("base64url").slice(0, 16);
}
