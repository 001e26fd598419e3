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
/** How many of those on disk may be close to each other, and how far apart the others are, in bytes of output. */
const KEPT_DENSE = 16;
const SPARSE_BYTES = 1024 * 1024;
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
		return nearestFirst(this.#kept, place, end)[0];
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
			this.#lines ??= (await this.#read()).length;
			if (this.#lines >= KEPT_ON_DISK + SLACK) {
				const whole = (await this.#read()).flatMap((line) => fromLine(line) ?? []);
				const kept = thinned([...whole, checkpoint]);
				await writeAtomically(this.#path, kept.map(toLine).join(""));
				this.#lines = kept.length;
				return;
			}
			// On a line of its own, whatever a crash has left of the last one.
			await appendFile(this.#path, `\n${toLine(checkpoint)}`, { mode: 0o600 });
			this.#lines++;
		});
	}

	/** Only those that may be it are unpacked: that costs more than all the rest. */
	nearest(place: LogPlace, end: Mark): Promise<Checkpoint | undefined> {
		return this.#next(async () => {
			const lines = (await this.#read()).flatMap((line) => {
				const [, seq, offset, time] = HEADER.exec(line) ?? [];
				return seq === undefined ? [] : [{ seq: Number(seq), offset: Number(offset), time: Number(time), line }];
			});
			for (const { line } of nearestFirst(lines, place, end)) {
				const checkpoint = fromLine(line);
				if (checkpoint) return checkpoint;
			}
			return undefined;
		});
	}

	#next<Value>(act: () => Promise<Value>): Promise<Value> {
		const done = this.#busy.then(act, act);
		this.#busy = done.catch(() => {});
		return done;
	}

	async #read(): Promise<string[]> {
		const text = await readFile(this.#path, "latin1").catch(() => "");
		return text.length > MAX_FILE_BYTES ? [] : text.split("\n").filter((line) => line !== "");
	}
}

type Place = Mark & { readonly time: number };

function nearestFirst<One extends Place>(all: readonly One[], place: LogPlace, end: Mark): One[] {
	const isBefore = (at: One) =>
		at.seq <= end.seq &&
		at.offset <= end.offset &&
		("offset" in place ? at.offset <= place.offset : at.time <= place.time);
	return all.filter(isBefore).sort((a, b) => b.seq - a.seq);
}

/** The newest, and of those before one for each so many bytes: the past is looked at more rarely, and may take longer. */
function thinned(all: readonly Checkpoint[]): Checkpoint[] {
	const kept: Checkpoint[] = [];
	for (const one of all.toReversed()) {
		const distance = (kept.at(-1)?.offset ?? Number.POSITIVE_INFINITY) - one.offset;
		if (kept.length < KEPT_DENSE || distance >= SPARSE_BYTES) kept.push(one);
		if (kept.length === KEPT_ON_DISK) break;
	}
	return kept.reverse();
}

/** How a line begins. */
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

/** Not against anybody, but against what disks do. */
function digestOf({ seq, offset, time, cols, rows, snapshot }: Omit<Line, "digest">): string {
	const content = JSON.stringify([seq, offset, time, cols, rows, snapshot]);
	return createHash("sha256").update(content).digest("base64url").slice(0, 16);
}
