/**
 * Channels for `wait-for`. A waiter sleeps until the next signal; a signal without a waiter is kept for the next one.
 *
 * A waiter is a socket in a private directory, so a killed waiter is one whose socket refuses connections. A sender
 * first writes a file and then notifies waiters; a waiter first listens and then looks for the file. So no waiter
 * misses a signal.
 */

import { createHash, randomBytes } from "node:crypto";
import { readdir, unlink, writeFile } from "node:fs/promises";
import { createConnection, createServer } from "node:net";
import { join } from "node:path";
import { makePrivateDirectory } from "../../disk/private-directory.ts";

/**
 * Characters of the name's hash: enough to tell channels apart, and short, because a socket path is limited to 107
 * bytes.
 */
const DIGEST_CHARACTERS = 16;

export class Channel {
	readonly #folder: string;
	readonly #prefix: string;

	constructor(folder: string, name: string) {
		this.#folder = folder;
		this.#prefix = createHash("sha256").update(name).digest("hex").slice(0, DIGEST_CHARACTERS);
	}

	/** Resolves when a signal arrives for this waiter. */
	async wait(): Promise<void> {
		await makePrivateDirectory(this.#folder);
		const server = createServer();
		const woken = new Promise<void>((resolve, reject) => {
			server.on("error", reject);
			server.on("connection", (socket) => {
				socket.destroy();
				resolve();
			});
		});
		const path = join(this.#folder, `${this.#prefix}.${randomBytes(4).toString("hex")}`);
		await new Promise<void>((resolve) => {
			server.listen(path, resolve);
			server.on("error", () => resolve());
		});
		if (!(await removed(this.#kept))) await woken;
		// close() removes the socket file.
		server.close();
	}

	async signal(): Promise<void> {
		await makePrivateDirectory(this.#folder);
		await writeFile(this.#kept, "", { mode: 0o600 });
		const files = (await readdir(this.#folder)).filter((file) => file.startsWith(`${this.#prefix}.`));
		const waiters = files.map((file) => join(this.#folder, file)).filter((path) => path !== this.#kept);
		const delivered = await Promise.all(waiters.map(notifyWaiter));
		if (delivered.includes(true)) await removed(this.#kept);
	}

	get #kept(): string {
		return join(this.#folder, `${this.#prefix}.kept`);
	}
}

/** Whether a waiter listens. Removes the socket of a dead one. */
function notifyWaiter(path: string): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = createConnection(path);
		socket.on("connect", () => {
			socket.destroy();
			resolve(true);
		});
		socket.on("error", () => resolve(removed(path).then(() => false)));
	});
}

/** Whether this process removed the file. */
async function removed(path: string): Promise<boolean> {
	try {
		await unlink(path);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
		throw error;
	}
}
