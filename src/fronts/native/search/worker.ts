/** The thread of one search: it may be stopped at any time, so that no expression can keep the server busy. */

import { parentPort, workerData } from "node:worker_threads";
import { LineSearch } from "./line-search.ts";
import type { Answer, Batch, Task } from "./thread.ts";

const { source, flags, limit } = workerData as Task;
const search = new LineSearch(new RegExp(source, flags), limit);

parentPort?.on("message", ({ bytes, marks, isLast }: Batch) => {
	search.push(
		marks.map(({ at, offset, time }, index) => ({
			offset,
			time,
			bytes: bytes.subarray(at, marks[index + 1]?.at ?? bytes.byteLength),
		})),
	);
	if (isLast) search.finish();
	const { isFull, resumeAt } = search;
	const answer: Answer = { matches: search.take(), isFull, resumeAt };
	parentPort?.postMessage(answer);
});
