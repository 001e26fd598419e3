/**
 * Runs a search in a separate process: batches of output go in, matches come out. The process is killed when it takes
 * too long. A thread would not do: V8 may take years to compile an expression, and only killing the process stops it.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { SearchMatch } from "../../api/types.ts";
import { SessionError } from "../../core/errors.ts";
import { shortage } from "../../core/process/resource-shortage.ts";

export type SearchQuery = {
	readonly source: string;
	readonly flags: string;
	readonly limit: number;
	/** The expression is a plain text. */
	readonly isLiteral: boolean;
	/** Searches each batch as one text of unmodified lines, instead of the visible text of output. */
	readonly isExact?: boolean;
};

/** Output in one buffer, with the offsets and times of its parts. */
export type SearchBatch = {
	readonly bytes: Uint8Array;
	readonly marks: readonly { readonly at: number; readonly offset: number; readonly time: number }[];
	readonly isLast: boolean;
};

type SearchAnswer = {
	readonly matches: readonly SearchMatch[];
	/** The maximum number of matches is reached; continue at `resumeAt`. */
	readonly isFull: boolean;
	readonly resumeAt: number;
};

/** Messages from the process: it has started, an answer to a batch, or an internal error. */
export type WorkerMessage = { readonly hasBegun: true } | SearchAnswer | { readonly bug: string };

export type AskOptions = {
	readonly signal: AbortSignal;
	/** A description of the batch for errors. */
	readonly where: string;
};

/**
 * CPU time for one batch. It takes a few milliseconds, unless the expression backtracks excessively.
 * @limit processor time of an expression for 1 MiB of output | its process is killed; `limit_exceeded`
 */
export const BATCH_MS = 2_000;
/**
 * Elapsed time for the start of Node and for a batch, which may be seconds on a busy machine and indicates nothing about the expression.
 * @limit the same in elapsed time, if the process gets too little of the processor | its process is killed;
 * `limit_exceeded`
 */
const RESPONSE_TIMEOUT_MS = 20_000;
/** Unit of CPU time in /proc (USER_HZ). */
const TICK_MS = 10;
/**
 * Memory of a process. About 200 MiB are Node itself and garbage; the rest is for batches and the expression.
 * @limit memory of a search process, Node included | its process is killed; `limit_exceeded`
 */
const MEMORY_MIB = 512;
/** CPU limit above that of any search. It ends a process whose server was killed. */
const CPU_SECONDS = 10;

/** Descriptors needed to start a process: a pair for messages, a pipe for errors, and some that the child opens. */
const START_DESCRIPTORS = 8;

const LIMITED = `ulimit -c 0; ulimit -t ${CPU_SECONDS}; ulimit -d ${MEMORY_MIB * 1024}; exec "$@"`;

/** Tests run the TypeScript sources, but the process needs the compiled file. */
const program = fileURLToPath(
	new URL(import.meta.url.endsWith(".ts") ? "../../../dist/services/search/worker.js" : "./worker.js", import.meta.url),
);

export class SearchProcess {
	readonly #process: ChildProcess;
	/** Resolves when the process is ready for its first query; messages before that are queued. */
	readonly #begun: Promise<unknown>;
	/** Set when the process has ended or failed to start. `why` is undefined if the search was too expensive. */
	#over: { readonly why: unknown } | undefined;
	/** Ends the current request. */
	#onOver: (why: unknown) => void = () => {};

	constructor(task: SearchQuery) {
		const process = start();
		this.#process = process;
		this.#begun = new Promise((resolve) => process.once("message", resolve));
		const end = (why: unknown) => {
			this.#over ??= { why };
			this.#onOver(this.#over.why);
		};
		process.on("error", (error) => end(shortage("a search", error) ?? error));
		process.on("exit", (code) => end(code === null ? undefined : new Error(`the search process exited with ${code}`)));
		this.#send(task);
	}

	/** Changes the query for the next batches. */
	turnTo(task: SearchQuery): void {
		this.#send(task);
	}

	/**
	 * Searches one batch; one call at a time. Rejects with `limit_exceeded` when the process has used up its time or memory.
	 * The time starts when the process is ready, and only its CPU time counts.
	 */
	ask(batch: SearchBatch, { signal, where }: AskOptions): Promise<SearchAnswer> {
		const process = this.#process;
		return new Promise((resolve, reject) => {
			let isSettled = false;
			const settle = (act: () => void) => {
				isSettled = true;
				clearTimeout(timer);
				process.off("message", answered);
				signal.removeEventListener("abort", aborted);
				this.#onOver = () => {};
				act();
			};
			const answered = (said: WorkerMessage) => {
				if ("hasBegun" in said) return;
				settle(() => ("bug" in said ? reject(new Error(`error in the search process: ${said.bug}`)) : resolve(said)));
			};
			const gone = (why?: unknown) => settle(() => reject(why ?? tooExpensiveError(where)));
			const aborted = () => gone(new SessionError("node_unavailable", "the search was canceled"));
			const late = () => gone(new SessionError("node_unavailable", "the search process does not start"));
			let timer = setTimeout(late, RESPONSE_TIMEOUT_MS);
			void this.#begun.then(() => {
				clearTimeout(timer);
				if (isSettled) return;
				const begin = { at: performance.now(), computedMs: this.#computedMs() };
				const look = () => {
					const leftMs = BATCH_MS - (this.#computedMs() - begin.computedMs);
					if (leftMs > 0 && performance.now() - begin.at < RESPONSE_TIMEOUT_MS) {
						timer = setTimeout(look, Math.max(leftMs, TICK_MS));
					} else gone();
				};
				timer = setTimeout(look, BATCH_MS);
			});
			process.on("message", answered);
			signal.addEventListener("abort", aborted);
			this.#onOver = gone;
			if (signal.aborted) aborted();
			else if (this.#over) gone(this.#over.why);
			else this.#send(batch);
		});
	}

	/** Kills the process at any point. */
	end(): void {
		this.#process.kill("SIGKILL");
	}

	/** CPU time since the start; NaN once the process is gone. */
	#computedMs(): number {
		try {
			const stat = readFileSync(`/proc/${this.#process.pid}/stat`, "latin1");
			// The process name in parentheses may contain anything, so fields count from the last parenthesis.
			const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
			return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
		} catch {
			return Number.NaN;
		}
	}

	#send(message: SearchQuery | SearchBatch): void {
		// A failed send means that the process has ended, which is handled elsewhere.
		if (this.#process.connected) this.#process.send(message, () => {});
	}
}

/** The query is not passed as an argument, where every user of the machine could read it. */
function start(): ChildProcess {
	const node = [process.execPath, "--v8-pool-size=0", program];
	try {
		checkDescriptors();
		return spawn("/bin/sh", ["-c", LIMITED, "sh", ...node], {
			env: {},
			stdio: ["ignore", "ignore", "ignore", "ipc"],
			serialization: "advanced",
		});
	} catch (error) {
		throw shortage("a search", error) ?? error;
	}
}

/** Throws if too few descriptors are free. Otherwise Node would fail in the middle of a start and leak those it has opened. */
function checkDescriptors(): void {
	const opened: number[] = [];
	try {
		while (opened.length < START_DESCRIPTORS) opened.push(openSync("/dev/null", "r"));
	} finally {
		for (const descriptor of opened) closeSync(descriptor);
	}
}

function tooExpensiveError(where: string): SessionError {
	return new SessionError("limit_exceeded", `the expression takes too long or too much memory in ${where}`, {
		hint: "use a simpler expression, or a plain text",
	});
}
