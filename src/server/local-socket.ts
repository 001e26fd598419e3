/** The Unix sockets for commands and hooks of the same account. Other accounts can't replace them. */

import { once } from "node:events";
import { chmod, rm } from "node:fs/promises";
import { createConnection, createServer, type Socket } from "node:net";
import { SessionError } from "../core/errors.ts";

/**
 * Pending connections, as far as the kernel allows. On Unix sockets further ones are refused with EAGAIN instead of
 * retried, so a program that opens many could lock out commands.
 */
const BACKLOG = 4_096;

/**
 * The directory is private and we hold the state directory's lock, so an existing socket is a leftover of a server that
 * died, unless another server runs on a copy of our state directory with the same runtime directory. Accepted
 * connections belong to the listener, which closes them.
 */
export async function openLocalSocket(
	path: string,
	accept: (connection: Socket) => void,
): Promise<{ close(): Promise<void> }> {
	if (await isServed(path)) {
		throw new SessionError("invalid_argument", `another server, on a copy of this state directory, has ${path}`, {
			hint: "choose another --runtime-dir",
		});
	}
	await rm(path, { force: true });
	// Half-open connections as in Node's HTTP servers: a client may end its side after the request.
	const server = createServer({ allowHalfOpen: true }, accept);
	server.listen({ path, backlog: BACKLOG });
	await once(server, "listening");
	await chmod(path, 0o600);
	return {
		// Removes the file at once. Not awaited, since the remaining connections belong to the listener.
		close: async () => void server.close(),
	};
}

function isServed(path: string): Promise<boolean> {
	return new Promise((resolve) => {
		const connection = createConnection(path);
		connection.once("error", () => resolve(false));
		connection.once("connect", () => {
			connection.destroy();
			resolve(true);
		});
	});
}
