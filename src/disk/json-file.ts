/** A small file of JSON that is whole after any crash: the last value written, or the one before it. */

import { readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { SessionError } from "../core/errors.ts";
import { syncDirectory, writeAtomically } from "./write-atomically.ts";

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
			throw new SessionError("unsupported", `${this.#path} is not what this server wrote: it is not JSON`, {
				hint: "move it away to start without what it holds",
				cause: error,
			});
		}
	}

	/** One at a time, in order; a failed one does not stop the next. In lines, because people read such files too. */
	write(value: unknown): Promise<void> {
		const text = `${JSON.stringify(value, null, "\t")}\n`;
		return this.#after(() => this.#replace(this.#path, text));
	}

	/** As if nothing had ever been written. */
	remove(): Promise<void> {
		return this.#after(async () => {
			await rm(this.#path, { force: true });
			await syncDirectory(dirname(this.#path));
		});
	}

	#after(act: () => Promise<void>): Promise<void> {
		const done = this.#last.then(act);
		this.#last = done.catch(() => {});
		return done;
	}
}
