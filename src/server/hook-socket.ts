/**
 * The socket to which the hooks of agents report: a line of JSON per connection, answered by one. A hook must never wait
 * for long, so the server answers or closes.
 */

import type { Socket } from "node:net";
import { type SessionProcess, sessionProcessOf } from "../backends/surrounding-sessions.ts";
import { openLocalSocket } from "./local-socket.ts";

/** Above the largest message of our own hook program. @limit a message of a hook | the connection is closed */
const MAX_LINE_BYTES = 1_100_000;
/** @limit connections of hooks at the same time | the next one is closed */
const MAX_CONNECTIONS = 256;
/** @limit messages of hooks that have not arrived whole, all together | the connection with the newest part is closed */
const MAX_HELD_BYTES = 16 * 1024 ** 2;
/** From the connection to the end of the answer. @limit a report of a hook | the connection is closed */
const REPORT_MS = 5_000;
const NEWLINE = 0x0a;

type HookSocketOptions = {
	readonly path: string;
	/** Takes a line from a process, which is undefined outside of sessions. Returns the answer. */
	readonly take: (line: string, from: SessionProcess | undefined) => Promise<string>;
	/** Reports internal errors. */
	readonly report: (problem: unknown) => void;
};

export async function openHookSocket({ path, take, report }: HookSocketOptions): Promise<{ close(): Promise<void> }> {
	const open = new Set<Socket>();
	const held = { bytes: 0 };
	const answer = async (connection: Socket) => {
		const line = await readLine(connection, held);
		if (line === undefined || connection.destroyed) return;
		// The process waits for the answer, so it is still there.
		connection.end(await take(line, sessionProcessOf(connection)));
	};
	const local = await openLocalSocket(path, (connection) => {
		// The process may leave at any time.
		connection.on("error", () => connection.destroy());
		if (open.size >= MAX_CONNECTIONS) return void connection.destroy();
		open.add(connection);
		const timer = setTimeout(() => connection.destroy(), REPORT_MS);
		connection.once("close", () => {
			open.delete(connection);
			clearTimeout(timer);
		});
		answer(connection).catch((problem: unknown) => {
			connection.destroy();
			report(problem);
		});
	});
	return {
		async close() {
			await local.close();
			for (const connection of open) connection.destroy();
		},
	};
}

/** The first line; undefined if the connection ends before, or the line is too long. */
function readLine(connection: Socket, held: { bytes: number }): Promise<string | undefined> {
	return new Promise((resolve) => {
		const chunks: Buffer[] = [];
		let size = 0;
		const end = (line: string | undefined) => {
			connection.off("data", take);
			held.bytes -= size;
			size = 0;
			resolve(line);
		};
		const take = (chunk: Buffer) => {
			const length = chunk.indexOf(NEWLINE);
			chunks.push(length < 0 ? chunk : chunk.subarray(0, length));
			size += chunk.byteLength;
			held.bytes += chunk.byteLength;
			if (size > MAX_LINE_BYTES || held.bytes > MAX_HELD_BYTES) {
				connection.destroy();
				end(undefined);
			} else if (length >= 0) end(Buffer.concat(chunks).toString());
		};
		connection.on("data", take);
		connection.once("end", () => end(undefined));
		connection.once("close", () => end(undefined));
	});
}
