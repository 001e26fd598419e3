/** What has to be done to a journal on disk before its writer can go on with it. */

import { promises as fs } from "node:fs";
import { join } from "node:path";
import type { Mark } from "../core/event.ts";
import { checkVersions, examine, listSegments } from "./reader.ts";
import { SegmentFile } from "./segment-file.ts";

/** Brings the last segment into a state to go on from: what a dying writer left of a record is cut off, all else stays. */
export async function recover(directory: string): Promise<{ segments: SegmentFile[]; end: Mark }> {
	const names = await listSegments(directory);
	await checkVersions(directory, names);
	const last = names.at(-1);
	if (last === undefined) return { segments: [], end: { seq: 1, offset: 0 } };
	const segments = await Promise.all(
		names
			.slice(0, -1)
			.map(async (name) => new SegmentFile(directory, name, (await fs.stat(join(directory, name.name))).size)),
	);
	const tail = await examine(directory, last);
	// Its header is written again with the first event, if there is neither.
	const size = tail.last === undefined && !tail.hasIntactHeader ? 0 : tail.position;
	if (tail.size > size) await fs.truncate(join(directory, last.name), size);
	return { segments: [...segments, new SegmentFile(directory, last, size)], end: tail.end };
}
