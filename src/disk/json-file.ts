/** A small file of JSON that is whole after any crash: the last value written, or the one before it. */

import { readFile } from "node:fs/promises";
import { SessionError } from "../core/errors.ts";
import { writeAtomically } from "./write-atomically.ts";

export class JsonFile {
	readonly #path: string;
	readonly #replace: typeof writeAtomically;
	#last: Promise<void> = Promise.resolve();

	/** `replace` writes it; as `writeAtomically` does, if left out. */
	constructor(path: string, replace: typeof writeAtomically = writeAtomically) {
		this.#path = path;
		this.#replace = replace;
	}

	/** Undefined when nothing was ever written. */
	async read(): Promise<unknown> {
		try {
			return JSON.parse(await readFile(this.#path, "utf8")) as unknown;
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
			if (!(error instanceof SyntaxError)) throw error;
			throw new SessionError("unsupported", `${this.#path} is not what this server wrote: it is no JSON`, {
				hint: "move it away to start without what it holds",
				cause: error,
			});
		}
	}

	/** One at a time, in order; a failed one does not stop the next. */
	write(value: unknown): Promise<void> {
		const text = `${JSON.stringify(value)}\n`;
		const written = this.#last.then(() => this.#replace(this.#path, text));
		this.#last = written.catch(() => {});
		return written;
	}
}
