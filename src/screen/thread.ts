/** The server's side of the thread with the models: questions go in, answers come out in the same order. */

import { Worker } from "node:worker_threads";
import type { Size } from "../core/event.ts";
import type { ScreenRow, ScreenView } from "../core/screen.ts";
import type { Newest } from "./newest.ts";

/** Everything that is asked of a model, with what it answers. */
type Questions = {
	/** Begins a model, or begins it anew. */
	open: {
		readonly asks: { readonly size: Size; readonly scrollback: number; readonly snapshot?: Uint8Array };
		readonly answer: null;
	};
	feed: { readonly asks: { readonly bytes: Uint8Array<ArrayBuffer> }; readonly answer: null };
	resize: { readonly asks: { readonly size: Size }; readonly answer: null };
	view: { readonly asks: unknown; readonly answer: ScreenView };
	cells: { readonly asks: unknown; readonly answer: ScreenRow[] };
	scrollback: { readonly asks: unknown; readonly answer: string[] };
	snapshot: { readonly asks: { readonly scrollback: number }; readonly answer: Uint8Array<ArrayBuffer> };
	close: { readonly asks: unknown; readonly answer: null };
	/** Of no model: null if more has to be known. */
	newest: { readonly asks: Newest; readonly answer: Uint8Array<ArrayBuffer> | null };
};
type Name = keyof Questions;

export type Question = {
	[Key in Name]: { readonly do: Key; readonly id: number; readonly model: number } & Questions[Key]["asks"];
}[Name];
export type Answer = {
	readonly id: number;
	readonly value: Questions[Name]["answer"];
	/** The model was in a thread that has ended. */
	readonly isMissing?: boolean;
};

/** What all models may have of memory, in MiB, besides their cells. */
const MEMORY_MIB = 512;
/** How long nothing may be answered, in milliseconds: a question takes some, unless output was made to take for ever. */
const SILENT_MS = 5_000;

/** Tests run the sources; a thread can only be started on what they are compiled to. */
const program = new URL(
	import.meta.url.endsWith(".ts") ? "../../dist/screen/worker.js" : "./worker.js",
	import.meta.url,
);

/** The thread has ended, and all models with it. */
export class ThreadLost extends Error {
	/** Whether it was this question that it was at. */
	readonly isCulprit: boolean;

	constructor(isCulprit: boolean) {
		super("the thread of the screens has ended");
		this.isCulprit = isCulprit;
	}
}

type Waiting = { readonly resolve: (value: never) => void; readonly reject: (error: ThreadLost) => void };

export class ScreenThread {
	readonly #onBug: (problem: unknown) => void;
	#worker: Worker | undefined;
	#lastId = 0;
	#lastModel = 0;
	/** In the order in which they were asked. */
	readonly #waiting = new Map<number, Waiting>();
	#watchdog: NodeJS.Timeout | undefined;

	/** `onBug` hears of what is not the fault of any output. */
	constructor(onBug: (problem: unknown) => void) {
		this.#onBug = onBug;
	}

	newModel(): number {
		return ++this.#lastModel;
	}

	/** Rejects with `ThreadLost` when the thread ends before it has answered; the next question starts another one. */
	ask<Key extends Name>(
		model: number,
		name: Key,
		asks: Questions[Key]["asks"],
		transfer: readonly ArrayBuffer[] = [],
	): Promise<Questions[Key]["answer"]> {
		const worker = this.#started();
		const id = ++this.#lastId;
		return new Promise((resolve, reject) => {
			this.#waiting.set(id, { resolve, reject });
			this.#watchdog ??= setTimeout(() => void worker.terminate(), SILENT_MS).unref();
			worker.postMessage({ ...(asks as object), do: name, id, model }, transfer);
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
		worker.on("message", ({ id, value, isMissing }: Answer) => {
			this.#watchdog?.refresh();
			const waiting = this.#waiting.get(id);
			this.#waiting.delete(id);
			if (this.#waiting.size === 0) this.#rest();
			if (isMissing) waiting?.reject(new ThreadLost(false));
			else waiting?.resolve(value as never);
		});
		worker.on("error", (error: NodeJS.ErrnoException) => {
			if (error.code !== "ERR_WORKER_OUT_OF_MEMORY") this.#onBug(error);
		});
		worker.on("exit", () => this.#ended(worker));
		return worker;
	}

	#ended(worker: Worker): void {
		if (this.#worker !== worker) return;
		this.#worker = undefined;
		this.#rest();
		const lost = [...this.#waiting.values()];
		this.#waiting.clear();
		for (const [index, { reject }] of lost.entries()) reject(new ThreadLost(index === 0));
	}

	#rest(): void {
		clearTimeout(this.#watchdog);
		this.#watchdog = undefined;
	}
}
