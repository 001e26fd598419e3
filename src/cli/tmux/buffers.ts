/** tmux's paste buffers: files in a private directory, so that one command can load what a later one pastes. */

import { createHash } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTree } from "../../server/make-tree.ts";
import { UsageError } from "../errors.ts";

/** The buffer that is meant when none is named: the latest of such. */
const UNNAMED = "";

export class Buffers {
	readonly #folder: string;

	constructor(folder: string) {
		this.#folder = folder;
	}

	async set(name: string = UNNAMED, data: Uint8Array): Promise<void> {
		await makeTree(this.#folder);
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

	/** A name may have any characters. */
	#path(name: string): string {
		return join(this.#folder, createHash("sha256").update(name).digest("hex"));
	}
}
