import { promises as fs } from "node:fs";
import { join } from "node:path";
import type { LogPosition } from "../core/log/event.ts";
import { checkVersions, listSegments, readSegmentTail } from "./journal-reader.ts";
import { SegmentFile } from "./segment-writer.ts";

/**
 * Prepares a journal for a new writer: cuts off the incomplete record that a dying writer left. Nothing else is
 * changed.
 */
export async function recover(directory: string): Promise<{ segments: SegmentFile[]; end: LogPosition }> {
	const names = await listSegments(directory);
	await checkVersions(directory, names);
	const last = names.at(-1);
	if (last === undefined) return { segments: [], end: { seq: 1, offset: 0 } };
	const segments = await Promise.all(
		names
			.slice(0, -1)
			.map(async (name) => new SegmentFile(directory, name, (await fs.stat(join(directory, name.name))).size)),
	);
	const tail = await readSegmentTail(directory, last);
	// The header is written again with the first event if neither is intact.
	const size = tail.last === undefined && !tail.hasIntactHeader ? 0 : tail.position;
	if (tail.size > size) await fs.truncate(join(directory, last.name), size);
	return { segments: [...segments, new SegmentFile(directory, last, size)], end: tail.end };
}
