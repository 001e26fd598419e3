/** A search in a thread of its own: batches of output go in, matches come out, and it is given up when it takes too long. */

import { Worker } from "node:worker_threads";
import { SessionError } from "../../../core/errors.ts";
import type { SearchMatch } from "../../../protocol/messages.ts";

export type Task = { readonly source: string; readonly flags: string; readonly limit: number };

/** Output in one piece of memory, which goes over to the thread; and what stands where in it. */
export type Batch = {
	readonly bytes: Uint8Array<ArrayBuffer>;
	readonly marks: readonly { readonly at: number; readonly offset: number; readonly time: number }[];
	readonly isLast: boolean;
};

export type Answer = {
	readonly matches: readonly SearchMatch[];
	/** There are as many as were wanted; where to go on is `resumeAt`. */
	readonly isFull: boolean;
	readonly resumeAt: number;
};

/** How long one batch may take: it takes a few milliseconds, unless its expression tries every way to match. */
const BATCH_MS = 2_000;
/** What a thread may have of memory: some batches, and what an expression needs for them. */
const MEMORY_MIB = 64;

/** Tests run the sources; a thread can only be started on what they are compiled to. */
const program = new URL(
	import.meta.url.endsWith(".ts") ? "../../../../dist/fronts/native/search/worker.js" : "./worker.js",
	import.meta.url,
);

export class SearchThread {
	readonly #worker: Worker;
	/** A bug of ours, which is not to be taken for an expression that is too dear. */
	#bug: unknown;

	constructor(task: Task) {
		this.#worker = new Worker(program, {
			workerData: task,
			execArgv: [],
			resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB },
		});
		// Comes before the exit, which tells whoever waits.
		this.#worker.on("error", (error: NodeJS.ErrnoException) => {
			if (error.code !== "ERR_WORKER_OUT_OF_MEMORY") this.#bug = error;
		});
	}

	/** Rejects with `limit_exceeded` when the thread has used up its time or its memory. */
	ask(batch: Batch, signal: AbortSignal): Promise<Answer> {
		const worker = this.#worker;
		return new Promise((resolve, reject) => {
			const settle = (act: () => void) => {
				clearTimeout(timer);
				worker.off("message", answered);
				worker.off("exit", gone);
				signal.removeEventListener("abort", aborted);
				act();
			};
			const answered = (answer: Answer) => settle(() => resolve(answer));
			const gone = () => settle(() => reject(this.#bug ?? tooDear(batch)));
			const aborted = () => settle(() => reject(new SessionError("node_unavailable", "the search was broken off")));
			const timer = setTimeout(gone, BATCH_MS);
			worker.on("message", answered);
			worker.on("exit", gone);
			signal.addEventListener("abort", aborted);
			if (signal.aborted) aborted();
			else worker.postMessage(batch, [batch.bytes.buffer]);
		});
	}

	async end(): Promise<void> {
		await this.#worker.terminate();
	}
}

function tooDear({ marks }: Batch): SessionError {
	return new SessionError(
		"limit_exceeded",
		`the expression takes too long, or too much memory, in the output from byte ${marks[0]?.offset ?? 0} on`,
		{ hint: "use one with fewer ways to match, such as a plain text" },
	);
}
