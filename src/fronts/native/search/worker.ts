/** The process that searches, for one thing at a time: it may be killed at any time, so that no expression can keep the server busy. */

import { LineSearch } from "./line-search.ts";
import type { Batch, Said, Task } from "./process.ts";

process.on("uncaughtException", (error) => tell({ bug: error.stack ?? error.message }));
let answer: (batch: Batch) => Said;
process.on("message", (message: Task | Batch) => {
	if ("source" in message) answer = answererOf(message);
	else tell(answer(message));
});
tell({ hasBegun: true });

function answererOf({ source, flags, isExact, ...how }: Task): (batch: Batch) => Said {
	const expression = new RegExp(source, flags);
	if (isExact) return (batch) => exactAnswerTo(expression, batch);
	const search = new LineSearch(expression, how);
	return (batch) => answerTo(search, batch);
}

function exactAnswerTo(expression: RegExp, { bytes }: Batch): Said {
	const lines = Buffer.from(bytes).toString("utf8").split("\n");
	return { matches: [], isFull: lines.some((line) => expression.test(line)), resumeAt: 0 };
}

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
