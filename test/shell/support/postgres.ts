/** A minimal PostgreSQL server for psql: it keeps each inserted text. */

import { createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

const QUERY = "Q".charCodeAt(0);
const IDLE = "I".charCodeAt(0);

/** Stops with the test; resolves with its port and the inserted texts. */
export async function startPostgres(): Promise<{ readonly port: number; readonly inserted: string[] }> {
	const inserted: string[] = [];
	const server = createServer((socket) => serve(socket, inserted));
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	onTestFinished(() => void server.close());
	const address = server.address();
	return { port: typeof address === "object" && address ? address.port : 0, inserted };
}

function serve(socket: Socket, inserted: string[]): void {
	let received = Buffer.alloc(0);
	let isGreeted = false;
	socket.on("data", (bytes) => {
		received = Buffer.concat([received, bytes]);
		// The first message has no type byte.
		for (let head = isGreeted ? 1 : 0; received.length >= head + 4; head = 1) {
			const end = head + received.readUInt32BE(head);
			if (received.length < end) return;
			const [letter, text] = [received[0], received.subarray(head + 4, end - 1).toString()];
			received = received.subarray(end);
			if (!isGreeted)
				socket.write(Buffer.concat([message("R", [0, 0, 0, 0]), setting("standard_conforming_strings", "on")]));
			else if (letter === QUERY) {
				inserted.push(/^insert '([\s\S]*)'/.exec(text)?.[1] ?? "");
				socket.write(message("C", [...Buffer.from(`kept ${inserted.length}\0`)]));
			}
			isGreeted = true;
			socket.write(message("Z", [IDLE]));
		}
	});
	socket.on("error", () => {});
}

function setting(name: string, value: string): Buffer {
	return message("S", [...Buffer.from(`${name}\0${value}\0`)]);
}

function message(letter: string, body: readonly number[]): Buffer {
	const head = Buffer.alloc(5);
	head.write(letter);
	head.writeUInt32BE(body.length + 4, 1);
	return Buffer.concat([head, Buffer.from(body)]);
}
