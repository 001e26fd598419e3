/** The Unix socket over which commands of the same account reach the server: nobody else can take its place. */

import { once } from "node:events";
import { chmod, rm } from "node:fs/promises";
import { createConnection, createServer, type Socket } from "node:net";
import { SessionError } from "../core/errors.ts";

/**
 * How many connections may wait to be accepted, as far as the kernel allows. Over a Unix socket one more is refused
 * with EAGAIN instead of being tried again, so that a program which opens many at once would keep commands out.
 */
const BACKLOG = 4_096;

/**
 * Its directory is private and the state directory's lock is ours, so that whatever has this name was left by a
 * server that died; unless ours is a copy of another state directory, with the same place for sockets. What comes
 * over it belongs to the listener, which closes it.
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
	// Half open, as Node's own HTTP servers are: a client may end its side when it has asked.
	const server = createServer({ allowHalfOpen: true }, accept);
	server.listen({ path, backlog: BACKLOG });
	await once(server, "listening");
	await chmod(path, 0o600);
	return {
		// Takes the file away at once; it would wait for connections, which are not ours any more.
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
