/** tmux's paste buffers: files in a private directory, shared by the commands of a script. */

import { createHash } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makePrivateDirectory } from "../../disk/private-directory.ts";
import { UsageError } from "../print/errors.ts";

/** The default buffer: the latest unnamed one. */
const UNNAMED = "";

export class Buffers {
	readonly #folder: string;

	constructor(folder: string) {
		this.#folder = folder;
	}

	async set(name: string = UNNAMED, data: Uint8Array): Promise<void> {
		await makePrivateDirectory(this.#folder);
		await writeFile(this.#path(name), data, { mode: 0o600 });
	}

	async get(name: string = UNNAMED): Promise<Buffer> {
		try {
			return await readFile(this.#path(name));
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
			throw new UsageError(name === UNNAMED ? "no buffers" : `no buffer ${name}`);
		}
	}

	async remove(name: string = UNNAMED): Promise<void> {
		await rm(this.#path(name), { force: true });
	}

	/** A hash, because a name may contain any character. */
	#path(name: string): string {
		return join(this.#folder, createHash("sha256").update(name).digest("hex"));
	}
}
