/** The search process. It handles one batch at a time and may be killed at any time. */

import { LineSearch } from "./line-search.ts";
import type { SearchBatch, SearchQuery, WorkerMessage } from "./search-process.ts";

process.on("uncaughtException", (error) => send({ bug: error.stack ?? error.message }));
let answer: (batch: SearchBatch) => WorkerMessage;
process.on("message", (message: SearchQuery | SearchBatch) => {
	if ("source" in message) answer = answererOf(message);
	else send(answer(message));
});
send({ hasBegun: true });

function answererOf({ source, flags, isExact, ...how }: SearchQuery): (batch: SearchBatch) => WorkerMessage {
	const expression = new RegExp(source, flags);
	if (isExact) return (batch) => exactAnswerTo(expression, batch);
	const search = new LineSearch(expression, how);
	return (batch) => answerTo(search, batch);
}

function exactAnswerTo(expression: RegExp, { bytes }: SearchBatch): WorkerMessage {
	const lines = Buffer.from(bytes).toString("utf8").split("\n");
	return { matches: [], isFull: lines.some((line) => expression.test(line)), resumeAt: 0 };
}

function answerTo(search: LineSearch, { bytes, marks, isLast }: SearchBatch): WorkerMessage {
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

function send(message: WorkerMessage): void {
	// If the server is gone, the message is dropped.
	process.send?.(message, undefined, undefined, () => {});
}
