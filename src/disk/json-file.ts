/** A small JSON file that survives crashes: it contains the last value written or the one before. */

import { readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { Serial } from "../async/serial.ts";
import { SessionError } from "../core/errors.ts";
import { syncDirectory, writeAtomically } from "./write-atomically.ts";

export class JsonFile {
	readonly #path: string;
	readonly #replace: typeof writeAtomically;
	readonly #writes = new Serial();

	/** `replace` defaults to `writeAtomically`. */
	constructor(path: string, replace: typeof writeAtomically = writeAtomically) {
		this.#path = path;
		this.#replace = replace;
	}

	/** Undefined if the file does not exist. */
	async read(): Promise<unknown> {
		try {
			return JSON.parse(await readFile(this.#path, "utf8")) as unknown;
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
			if (!(error instanceof SyntaxError)) throw error;
			throw new SessionError("unsupported", `${this.#path} is damaged: it is not JSON`, {
				hint: "move it away to start without its content",
				cause: error,
			});
		}
	}

	/** Writes are done in order; a failed one does not stop the next. The JSON is indented for human readers. */
	write(value: unknown): Promise<void> {
		const text = `${JSON.stringify(value, null, "\t")}\n`;
		return this.#writes.run(() => this.#replace(this.#path, text));
	}

	/** Deletes the file. */
	remove(): Promise<void> {
		return this.#writes.run(async () => {
			await rm(this.#path, { force: true });
			await syncDirectory(dirname(this.#path));
		});
	}
}
