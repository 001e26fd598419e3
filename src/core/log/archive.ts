/** The interface between a log and the archive that keeps its events on disk. */

import type { Event, LogPosition, Place } from "./event.ts";

/** The log as the archive sees it. The archive pulls events when it is ready for them. */
export interface ArchiveSource {
	/** The position after the newest event. */
	readonly end: LogPosition;
	/**
	 * Events in memory from `seq` on, oldest first: at least one if there is any, about `maxBytes` at most. Starts later
	 * if older ones are gone.
	 */
	peek(seq: number, maxBytes: number): readonly Event[];
	/** A lossless reader needs the events from here on. Infinity without such a reader. */
	heldFrom(): number;
	/** `end`, `oldest`, `isHealthy` or `isFull` changed. */
	archiveChanged(): void;
}

export interface Archive {
	/** The oldest event that can be read; equal to `end` while there is none. */
	readonly oldest: LogPosition;
	/** The position after the newest event taken. */
	readonly end: LogPosition;
	/** False while events can't be written. The log then drops events without waiting for the archive. */
	readonly isHealthy: boolean;
	/** At its limit, and unable to drop its oldest part because a reader holds it. */
	readonly isFull: boolean;
	/** Starts taking events from the log. Called once, before the first append. */
	start(source: ArchiveSource): void;
	/** The log has grown, or a hold has moved. Returns at once. */
	wake(): void;
	reader(): ArchiveReader;
	/** Writes what is left, makes it durable and releases all resources. */
	close(): Promise<void>;
}

/** One reader of an archive. It must not be used by two callers at once. */
export interface ArchiveReader {
	/**
	 * Events at and after the position, in order: at least one if there is any, about `maxBytes` at most. Without `seq`,
	 * the first is the event that holds that byte or, if none does, the next one. A jump in the numbers is a gap.
	 */
	read(from: Place, maxBytes: number): Promise<readonly Event[]>;
	close(): Promise<void>;
}
