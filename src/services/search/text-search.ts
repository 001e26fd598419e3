/** Searches a sequence of texts, such as screens, with one search process. */

import { type AskOptions, SearchProcess, type SearchQuery } from "./search-process.ts";

export class TextSearch {
	readonly #process: SearchProcess;
	/** Offset of the next text, as if all texts were one output. */
	#offset = 0;

	constructor(task: SearchQuery) {
		this.#process = new SearchProcess(task);
	}

	/** Whether the query's number of matches is reached. */
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
