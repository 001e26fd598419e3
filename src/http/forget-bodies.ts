/**
 * Overwrites memory in which Node keeps bytes of earlier requests. Node reads all requests into one buffer, and their
 * bytes stay until a longer request replaces them. So we send ourselves a longer one that contains only zeros.
 */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, request } from "node:http";

/** More than Node's read buffer, which has 64 KiB. */
const NOTHING = Buffer.alloc(128 * 1024);

/** Resolves when the buffer is overwritten. */
export async function overwriteRequestMemory(): Promise<void> {
	const server = createServer((incoming, answer) => {
		incoming.resume();
		incoming.on("end", () => answer.end());
	});
	// An abstract socket: its name is not a file and disappears with the server.
	const socketPath = `\0hawser-${randomUUID()}`;
	server.listen(socketPath);
	await once(server, "listening");
	try {
		const own = request({
			socketPath,
			method: "POST",
			agent: false,
			headers: { "content-length": NOTHING.byteLength },
		});
		own.end(NOTHING);
		const [answer] = await once(own, "response");
		answer.resume();
		await once(answer, "end");
	} finally {
		server.close();
	}
}
