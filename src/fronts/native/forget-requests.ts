/**
 * Makes this process forget the bytes of requests. Node reads all of them into one piece of memory, where the last stay
 * until a longer one comes; so a longer one comes, from ourselves, with nothing in it.
 */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, request } from "node:http";

/** More than that memory has, which is 64 KiB. */
const NOTHING = Buffer.alloc(128 * 1024);

/** Resolves when nothing of any request before is left. */
export async function forgetRequests(): Promise<void> {
	const server = createServer((incoming, answer) => {
		incoming.resume();
		incoming.on("end", () => answer.end());
	});
	// A name that no file has, and that is gone with the server.
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
