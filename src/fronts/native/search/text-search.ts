/** Looks for an expression in one text after the other, such as what a screen shows, in the process of one search. */

import { type AskOptions, SearchProcess, type Task } from "./process.ts";

export class TextSearch {
	readonly #process: SearchProcess;
	/** Where the next text begins, as if they were one output. */
	#offset = 0;

	constructor(task: Task) {
		this.#process = new SearchProcess(task);
	}

	/** Whether as many as the task wants were found by now. */
	async isIn(lines: readonly string[], { signal, where }: AskOptions): Promise<boolean> {
		const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
		const batch = { bytes, marks: [{ at: 0, offset: this.#offset, time: 0 }], isLast: false };
		this.#offset += bytes.byteLength;
		return (await this.#process.ask(batch, { signal, where })).isFull;
	}

	end(): void {
		this.#process.end();
	}
}
