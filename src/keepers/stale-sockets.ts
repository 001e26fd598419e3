/** The sockets of keepers that were killed: nobody listens to them any more, and nobody else takes them away. */

import { readdir, rm } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";

/** As a keeper's is named, by its epoch. */
const KEEPER_SOCKET = /^[0-9a-f]{16}\.sock$/;

/** What keepers of earlier servers have left or still use. */
export async function listSockets(directory: string): Promise<string[]> {
	const names = await readdir(directory);
	return names.filter((name) => KEEPER_SOCKET.test(name)).map((name) => join(directory, name));
}

export async function removeStale(sockets: readonly string[]): Promise<void> {
	// One after the other: there is no hurry.
	for (const socket of sockets) if (await isRefused(socket)) await rm(socket, { force: true });
}

/** Only that is proof: whatever else goes wrong may be somebody who is busy. */
function isRefused(path: string): Promise<boolean> {
	return new Promise((resolve) => {
		const connection = connect(path, () => {
			connection.destroy();
			resolve(false);
		});
		connection.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
	});
}
