/** Shared by the journal's tests: a log's memory, sample events, and temporary directories. */

import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Archive, ArchiveSource } from "../../src/core/log/archive.ts";
import { byteLength, type Event, type Fact, type LogPosition } from "../../src/core/log/event.ts";
import { Journal, type JournalOptions } from "../../src/journal/journal.ts";
import type { JournalReader } from "../../src/journal/journal-reader.ts";
import { FakeClock } from "../support/fake-clock.ts";

/** The memory of a log: appends events, and drops them only on request. */
export class Memory implements ArchiveSource {
	events: Event[] = [];
	held = Number.POSITIVE_INFINITY;
	readonly archive: Archive;
	#end: LogPosition;
	/** The archive's oldest event when it last read the hold; undefined since it was woken. */
	#askedAt: number | undefined;
	readonly #waiting = new Set<() => void>();

	constructor(archive: Archive) {
		this.archive = archive;
		this.#end = archive.end;
		archive.start(this);
	}

	get end(): LogPosition {
		return this.#end;
	}

	append(...facts: Fact[]): readonly Event[] {
		const events = facts.map((fact) => {
			const event: Event = { ...fact, ...this.#end, time: 1_700_000_000_000 + this.#end.seq / 4 };
			this.#end = { seq: event.seq + 1, offset: event.offset + byteLength(event) };
			return event;
		});
		this.events.push(...events);
		this.wake();
		return events;
	}

	wake(): void {
		this.#askedAt = undefined;
		this.archive.wake();
	}

	/** Whether the archive is full and waits: it has read the hold and did not drop its oldest segment. */
	get isHeldUp(): boolean {
		return this.archive.isFull && this.#askedAt === this.archive.oldest.seq;
	}

	/** Drops everything, as a log does if its archive is not healthy. */
	dropAll(): void {
		this.events = [];
	}

	peek(seq: number, maxBytes: number): readonly Event[] {
		const first = this.events.findIndex((event) => event.seq >= seq);
		if (first < 0) return [];
		let last = first;
		for (let bytes = 0; last < this.events.length && (last === first || bytes < maxBytes); last++) {
			bytes += byteLength(this.events[last] as Event);
		}
		return this.events.slice(first, last);
	}

	heldFrom(): number {
		this.#askedAt = this.archive.oldest.seq;
		return this.held;
	}

	archiveChanged(): void {
		for (const look of this.#waiting) look();
	}

	/** Resolves when `isSo` holds after a change. */
	until(isSo: (archive: Archive) => boolean): Promise<void> {
		return new Promise((resolve) => {
			const look = () => {
				if (!isSo(this.archive)) return;
				this.#waiting.delete(look);
				resolve();
			};
			this.#waiting.add(look);
			look();
		});
	}

	/** Resolves when all appended events are in the archive. */
	taken(): Promise<void> {
		const { seq } = this.#end;
		return this.until((archive) => archive.end.seq >= seq);
	}
}

/** A directory in memory, if there is space: the property tests create thousands of journals, and need no disk. */
export const MEMORY = roomIn("/dev/shm") > 2 ** 30 ? "/dev/shm" : tmpdir();

function roomIn(directory: string): number {
	const { bavail, bsize } = statfsSync(directory);
	return bavail * bsize;
}

export function temporaryDirectory(parent = tmpdir()): string {
	const directory = mkdtempSync(join(parent, "hawser-journal-"));
	onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
	return directory;
}

/** A journal in a new directory, closed after the test. Writes at once unless configured otherwise. */
export async function openJournal(
	options: Partial<JournalOptions> = {},
): Promise<{ journal: Journal; clock: FakeClock; directory: string }> {
	const clock = new FakeClock();
	const directory = options.directory ?? temporaryDirectory();
	const journal = await Journal.open({ clock, gatherMs: 0, ...options, directory });
	onTestFinished(() => journal.close());
	return { journal, clock, directory };
}

/** Writes events to a directory and closes the journal. */
export async function write(
	facts: readonly Fact[],
	options: Partial<JournalOptions> & { directory: string },
): Promise<readonly Event[]> {
	const journal = await Journal.open({ clock: new FakeClock(), gatherMs: 0, ...options });
	const events = new Memory(journal).append(...facts);
	await journal.close();
	return events;
}

/** Waits for several file operations, in which a journal completes what it began. */
export async function fileTurns(): Promise<void> {
	for (let n = 0; n < 12; n++) await stat(tmpdir());
}

/** Reads everything from a position, in reads of at most about `maxBytes`. */
export async function readAll(
	reader: JournalReader,
	from: { seq: number } | { offset: number } = { seq: 1 },
	maxBytes = 64,
): Promise<Event[]> {
	const events: Event[] = [];
	let place = from;
	for (;;) {
		const batch = await reader.read(place, maxBytes);
		const last = batch.at(-1);
		if (last === undefined) break;
		events.push(...batch);
		place = { seq: last.seq + 1 };
	}
	await reader.close();
	return events;
}

export function output(text: string, stream: "stdout" | "stderr" | "pty" = "pty"): Fact {
	return { kind: "output", stream, bytes: new TextEncoder().encode(text) };
}

/** One event of every kind and stream, including an empty one and one too large to be copied. */
export const sampleFacts: readonly Fact[] = [
	{ kind: "resized", size: { cols: 80, rows: 24 } },
	output("hello\r\n"),
	output("out", "stdout"),
	output("err", "stderr"),
	output(""),
	{ kind: "resized", size: { cols: 132, rows: 50 } },
	output("x".repeat(90)),
	{ kind: "exited", exit: { code: null, signal: "SIGKILL", reason: "killed", by: "tëst" } },
	output("the tail"),
	{ kind: "closed" },
];
