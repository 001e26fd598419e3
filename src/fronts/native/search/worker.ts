/** The process of one search: it may be killed at any time, so that no expression can keep the server busy. */

import { LineSearch } from "./line-search.ts";
import type { Batch, Said, Task } from "./process.ts";

process.on("uncaughtException", (error) => tell({ bug: error.stack ?? error.message }));
process.once("message", ({ source, flags, ...how }: Task) => {
	const search = new LineSearch(new RegExp(source, flags), how);
	process.on("message", (batch: Batch) => tell(answerTo(search, batch)));
});

function answerTo(search: LineSearch, { bytes, marks, isLast }: Batch): Said {
	search.push(
		marks.map(({ at, offset, time }, index) => ({
			offset,
			time,
			bytes: bytes.subarray(at, marks[index + 1]?.at ?? bytes.byteLength),
		})),
	);
	if (isLast) search.finish();
	const { isFull, resumeAt } = search;
	return { matches: search.take(), isFull, resumeAt };
}

function tell(said: Said): void {
	// If nobody is there any more, there is nobody to tell.
	process.send?.(said, undefined, undefined, () => {});
}
