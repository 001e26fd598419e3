/** Memory of frames received over a link. */

import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { Link } from "../../../src/keeper/link/link.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

it("a keeper overwrites a frame's bytes after their use", async () => {
	const path = join(await temporaryDirectory(), "socket");
	const read: Buffer[] = [];
	const server = createServer();
	server.listen(path);
	await once(server, "listening");
	onTestFinished(() => void server.close());
	const taken = new Promise<string>((resolve) => {
		server.once("connection", (socket: Socket) => {
			socket.on("data", (chunk) => read.push(chunk));
			Link.accept(socket, { onFrame: ({ body }) => resolve(Buffer.from(body).toString()), onClose: () => {} });
			onTestFinished(() => void socket.destroy());
		});
	});
	const link = Link.connect(path, { onFrame: () => {}, onClose: () => {} });
	onTestFinished(() => link.close());
	link.send({ do: "secret" }, Buffer.from("hunter-two"));
	expect(await taken).toBe("hunter-two");
	const bytes = Buffer.concat(read);
	expect(bytes.equals(Buffer.alloc(bytes.byteLength))).toBe(true);
	expect(bytes.byteLength).toBeGreaterThan("hunter-two".length);
});
