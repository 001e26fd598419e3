/** Removes the sockets of keepers that were killed. */

import { readdir, rm } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";

/** A keeper's socket is named after its epoch. */
const KEEPER_SOCKET = /^[0-9a-f]{16}\.sock$/;

/** Sockets of earlier servers' keepers, in use or not. */
export async function listSockets(directory: string): Promise<string[]> {
	const names = await readdir(directory);
	return names.filter((name) => KEEPER_SOCKET.test(name)).map((name) => join(directory, name));
}

export async function removeStale(sockets: readonly string[]): Promise<void> {
	// One after another, because there is no hurry.
	for (const socket of sockets) if (await isRefused(socket)) await rm(socket, { force: true });
}

/** Only a refused connection proves that no keeper listens. Any other error may mean a busy one. */
function isRefused(path: string): Promise<boolean> {
	return new Promise((resolve) => {
		const connection = connect(path, () => {
			connection.destroy();
			resolve(false);
		});
		connection.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
	});
}
