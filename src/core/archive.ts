/** What a log needs of the place where its events go on living once memory lets them go. */

import type { Event, Mark } from "./event.ts";

/** The log as the archive sees it: the archive takes events when it is ready for them, nobody pushes. */
export interface ArchiveSource {
	/** What comes after the newest event. */
	readonly end: Mark;
	/** Events in memory from `seq` on, oldest first, at least one if there is any, at most about `maxBytes`. May start later than asked when older ones are gone. */
	peek(seq: number, maxBytes: number): readonly Event[];
	/** Events from here on are needed by a reader that must not lose any; Infinity when there is none. */
	heldFrom(): number;
	/** `end`, `oldest`, `isHealthy` or `isFull` changed. */
	archiveChanged(): void;
}

export interface Archive {
	/** The oldest event that can be read; equal to `end` while there is none. */
	readonly oldest: Mark;
	/** What comes after the newest event taken. */
	readonly end: Mark;
	/** False while events can't be written: memory then drops them without waiting for the archive. */
	readonly isHealthy: boolean;
	/** At its limit, and unable to drop its oldest part because a reader holds it. */
	readonly isFull: boolean;
	/** Begins to take events from the log; called once, before the first append. */
	start(source: ArchiveSource): void;
	/** The log has grown, or a hold has moved. Returns at once. */
	wake(): void;
	reader(): ArchiveReader;
	/** Writes what there is to write, makes it durable and releases everything. */
	close(): Promise<void>;
}

/** One reader's place in an archive; not to be used by two callers at once. */
export interface ArchiveReader {
	/**
	 * Events at and after the given place in order, at least one if there is any, at most about `maxBytes`.
	 * With `offset`, the first is the one that holds that byte or, if none does, follows it. The numbers
	 * show what is missing: a reader that sees them jump has found a gap.
	 */
	read(from: { readonly seq: number } | { readonly offset: number }, maxBytes: number): Promise<readonly Event[]>;
	close(): Promise<void>;
}
