/** The server's side of the emulator thread: sends requests, which are answered in order. */

import { Worker } from "node:worker_threads";
import { SessionError } from "../core/errors.ts";
import type { EmulatorResponse, Name, Questions } from "./requests.ts";

/**
 * Memory of all models in MiB, in addition to their cells.
 * @limit the thread of all models | it is restarted, and models begin at their checkpoints
 */
const MEMORY_MIB = 512;
/**
 * Longest time without a response, in milliseconds. A request takes some, unless output was crafted to take forever.
 * @limit an answer of that thread | the same
 */
const SILENT_MS = 5_000;

/** Tests run the sources, but a thread can only run compiled files. */
const program = new URL(
	import.meta.url.endsWith(".ts") ? "../../dist/emulator/worker.js" : "./worker.js",
	import.meta.url,
);

/** The thread has ended, and all models with it. */
export class EmulatorThreadEnded extends Error {
	/** Whether the thread was processing this request. */
	readonly isCulprit: boolean;

	constructor(isCulprit: boolean) {
		super("the emulator thread has ended");
		this.isCulprit = isCulprit;
	}
}

type Waiting = {
	readonly resolve: (value: never) => void;
	readonly reject: (error: EmulatorThreadEnded | SessionError) => void;
};

export class EmulatorThread {
	readonly #onBug: (problem: unknown) => void;
	#worker: Worker | undefined;
	#lastId = 0;
	#lastModel = 0;
	/** In the order of the requests. */
	readonly #waiting = new Map<number, Waiting>();
	#watchdog: NodeJS.Timeout | undefined;

	/** `onBug` is called for errors that no output can cause. */
	constructor(onBug: (problem: unknown) => void) {
		this.#onBug = onBug;
	}

	newModel(): number {
		return ++this.#lastModel;
	}

	/**
	 * Rejects with `EmulatorThreadEnded` if the thread ends first, or with the shortage that kept it from starting. The
	 * next request starts a new one.
	 */
	ask<Key extends Name>(
		model: number,
		name: Key,
		fields: Questions[Key]["asks"],
		transfer: readonly ArrayBuffer[] = [],
	): Promise<Questions[Key]["answer"]> {
		const worker = this.#started();
		const id = ++this.#lastId;
		return new Promise((resolve, reject) => {
			this.#waiting.set(id, { resolve, reject });
			this.#watchdog ??= setTimeout(() => void worker.terminate(), SILENT_MS).unref();
			worker.postMessage({ ...(fields as object), do: name, id, model }, transfer);
		});
	}

	async close(): Promise<void> {
		await this.#worker?.terminate();
	}

	#started(): Worker {
		if (this.#worker) return this.#worker;
		const worker = new Worker(program, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB } });
		this.#worker = worker;
		worker.unref();
		worker.on("message", ({ id, value, isMissing }: EmulatorResponse) => {
			this.#watchdog?.refresh();
			const waiting = this.#waiting.get(id);
			this.#waiting.delete(id);
			if (this.#waiting.size === 0) this.#rest();
			if (isMissing) waiting?.reject(new EmulatorThreadEnded(false));
			else waiting?.resolve(value as never);
		});
		let shortage: SessionError | undefined;
		worker.on("error", (error: NodeJS.ErrnoException) => {
			shortage = shortageOf(error);
			if (!shortage && error.code !== "ERR_WORKER_OUT_OF_MEMORY") this.#onBug(error);
		});
		worker.on("exit", () => this.#ended(worker, shortage));
		return worker;
	}

	/** If the thread could not start for lack of resources, no request is to blame. */
	#ended(worker: Worker, shortage: SessionError | undefined): void {
		if (this.#worker !== worker) return;
		this.#worker = undefined;
		this.#rest();
		const lost = [...this.#waiting.values()];
		this.#waiting.clear();
		for (const [index, { reject }] of lost.entries()) reject(shortage ?? new EmulatorThreadEnded(index === 0));
	}

	#rest(): void {
		clearTimeout(this.#watchdog);
		this.#watchdog = undefined;
	}
}

/** The resource that was missing when the thread could not start; undefined for any other error. */
function shortageOf({ code, message }: NodeJS.ErrnoException): SessionError | undefined {
	// Node has the system's error only in the message.
	const errno = code === "ERR_WORKER_INIT_FAILED" ? /E[A-Z]+$/.exec(message)?.[0] : code;
	const error = SessionError.from(Object.assign(new Error(message), { code: errno }));
	return error.code === "limit_exceeded" ? error : undefined;
}
