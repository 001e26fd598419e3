/**
 * The channels of `wait-for`: whoever waits sleeps until somebody signals, and a signal that nobody waits for is kept
 * for the next who does.
 *
 * A waiter is a socket in a private directory, so one that was killed is known by that nobody listens on it. A signal
 * is first left in a file and then taken to those who wait; a waiter first listens and then looks for the file: however
 * the two meet, none waits for a signal that was given.
 */

import { createHash, randomBytes } from "node:crypto";
import { readdir, unlink, writeFile } from "node:fs/promises";
import { createConnection, createServer } from "node:net";
import { join } from "node:path";
import { makeTree } from "../../server/make-tree.ts";

/** Of the name's digest: enough to keep channels apart, and short, for the path of a socket may have 107 bytes. */
const DIGEST_CHARACTERS = 16;

export class Channel {
	readonly #folder: string;
	readonly #prefix: string;

	constructor(folder: string, name: string) {
		this.#folder = folder;
		this.#prefix = createHash("sha256").update(name).digest("hex").slice(0, DIGEST_CHARACTERS);
	}

	/** Resolves once there is a signal for us. */
	async wait(): Promise<void> {
		await makeTree(this.#folder);
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
		// Removes its file as well.
		server.close();
	}

	async signal(): Promise<void> {
		await makeTree(this.#folder);
		await writeFile(this.#kept, "", { mode: 0o600 });
		const files = (await readdir(this.#folder)).filter((file) => file.startsWith(`${this.#prefix}.`));
		const waiters = files.map((file) => join(this.#folder, file)).filter((path) => path !== this.#kept);
		const heard = await Promise.all(waiters.map(wake));
		if (heard.includes(true)) await removed(this.#kept);
	}

	get #kept(): string {
		return join(this.#folder, `${this.#prefix}.kept`);
	}
}

/** Whether somebody listens there; what a dead waiter left is removed. */
function wake(path: string): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = createConnection(path);
		socket.on("connect", () => {
			socket.destroy();
			resolve(true);
		});
		socket.on("error", () => resolve(removed(path).then(() => false)));
	});
}

/** Whether it was us who removed it. */
async function removed(path: string): Promise<boolean> {
	try {
		await unlink(path);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
		throw error;
	}
}
