/**
 * A search in a process of its own: batches of output go in, matches come out, and it is killed when it takes too long.
 * Not in a thread: while V8 compiles an expression, which can take years, nothing but the end of its process stops it.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { SessionError } from "../../../core/errors.ts";
import { shortage } from "../../../core/shortage.ts";
import type { SearchMatch } from "../../../protocol/past.ts";

export type Task = {
	readonly source: string;
	readonly flags: string;
	readonly limit: number;
	/** It is a text, to the letter. */
	readonly isLiteral: boolean;
	/** It is looked for in lines as they are, however long, and not in what output shows; each batch is a text of its own. */
	readonly isExact?: boolean;
};

/** Output in one piece of memory; and what stands where in it. */
export type Batch = {
	readonly bytes: Uint8Array;
	readonly marks: readonly { readonly at: number; readonly offset: number; readonly time: number }[];
	readonly isLast: boolean;
};

export type Answer = {
	readonly matches: readonly SearchMatch[];
	/** There are as many as were wanted; where to go on is `resumeAt`. */
	readonly isFull: boolean;
	readonly resumeAt: number;
};

/** What the process says: that it has begun, an answer to each batch, or what went wrong in our own code. */
export type Said = { readonly hasBegun: true } | Answer | { readonly bug: string };

export type AskOptions = {
	readonly signal: AbortSignal;
	/** What the caller knows the batch as. */
	readonly where: string;
};

/** How much of a processor's time one batch may take: a few milliseconds, unless its expression tries every way to match. */
export const BATCH_MS = 2_000;
/** How long Node may take to start, and a batch in all, which says nothing about an expression: on a busy machine that is seconds. */
const PATIENCE_MS = 20_000;
/** What the kernel counts a processor's time in, for everybody to read (USER_HZ). */
const TICK_MS = 10;
/** What a process may have of memory: some 200 MiB are Node's own and garbage, the rest is for batches and the expression. */
const MEMORY_MIB = 512;
/** More than any search takes: one whose server was killed meanwhile comes to an end by itself. */
const CPU_SECONDS = 10;

/** More than the start of a process takes: a pair for messages, a pipe for its failure, and some that the child opens. */
const START_DESCRIPTORS = 8;

const LIMITED = `ulimit -c 0; ulimit -t ${CPU_SECONDS}; ulimit -d ${MEMORY_MIB * 1024}; exec "$@"`;

/** Tests run the sources; Node can only be started on what they are compiled to. */
const program = fileURLToPath(
	new URL(
		import.meta.url.endsWith(".ts") ? "../../../../dist/fronts/native/search/worker.js" : "./worker.js",
		import.meta.url,
	),
);

export class SearchProcess {
	readonly #process: ChildProcess;
	/** Once it takes its first task; what it is sent before waits. */
	readonly #begun: Promise<unknown>;
	/** There is none, or none any more: why, unless its task was too dear. */
	#over: { readonly why: unknown } | undefined;
	/** Ends what is asked now. */
	#onOver: (why: unknown) => void = () => {};

	constructor(task: Task) {
		const process = start();
		this.#process = process;
		this.#begun = new Promise((resolve) => process.once("message", resolve));
		const end = (why: unknown) => {
			this.#over ??= { why };
			this.#onOver(this.#over.why);
		};
		process.on("error", (error) => end(shortage("a search", error) ?? error));
		process.on("exit", (code) => end(code === null ? undefined : new Error(`a search ended with ${code}`)));
		this.#send(task);
	}

	/** What the next batch is searched for, and those after it. */
	turnTo(task: Task): void {
		this.#send(task);
	}

	/**
	 * One after the other. Rejects with `limit_exceeded` when the process has used up its time or its memory; the time
	 * begins once the process has, and only what it computes counts.
	 */
	ask(batch: Batch, { signal, where }: AskOptions): Promise<Answer> {
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
			const answered = (said: Said) => {
				if ("hasBegun" in said) return;
				settle(() => ("bug" in said ? reject(new Error(`in a search: ${said.bug}`)) : resolve(said)));
			};
			const gone = (why?: unknown) => settle(() => reject(why ?? tooDear(where)));
			const aborted = () => gone(new SessionError("node_unavailable", "the search was broken off"));
			const late = () => gone(new SessionError("node_unavailable", "the process of a search does not start"));
			let timer = setTimeout(late, PATIENCE_MS);
			void this.#begun.then(() => {
				clearTimeout(timer);
				if (isSettled) return;
				const begin = { at: performance.now(), computedMs: this.#computedMs() };
				const look = () => {
					const leftMs = BATCH_MS - (this.#computedMs() - begin.computedMs);
					if (leftMs > 0 && performance.now() - begin.at < PATIENCE_MS) {
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

	/** Whatever it is doing; nobody has to wait for it. */
	end(): void {
		this.#process.kill("SIGKILL");
	}

	/** Of a processor's time, since its start; not a number once it is gone. */
	#computedMs(): number {
		try {
			const stat = readFileSync(`/proc/${this.#process.pid}/stat`, "latin1");
			// The name in brackets may hold anything; the fields count from its last bracket.
			const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
			return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
		} catch {
			return Number.NaN;
		}
	}

	#send(message: Task | Batch): void {
		// Why it can't be sent, because there is no process, comes as its end.
		if (this.#process.connected) this.#process.send(message, () => {});
	}
}

/** Its task is not in its arguments, where everybody on the machine could read it. */
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

/** Throws if there are too few: Node would find out in the middle of a start, and never close again what it had opened by then. */
function checkDescriptors(): void {
	const opened: number[] = [];
	try {
		while (opened.length < START_DESCRIPTORS) opened.push(openSync("/dev/null", "r"));
	} finally {
		for (const descriptor of opened) closeSync(descriptor);
	}
}

function tooDear(where: string): SessionError {
	return new SessionError("limit_exceeded", `the expression takes too long, or too much memory, in ${where}`, {
		hint: "use one with fewer ways to match, such as a plain text",
	});
}
