/** Responses generated while they are sent. Short ones are sent whole, with their length. */

import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";

/** Bytes per block. */
const BLOCK_BYTES = 64 * 1024;

/** A failure before the first block is an ordinary error; later, the connection is aborted. */
export async function sendBlocks(
	reply: FastifyReply,
	blocks: AsyncGenerator<Buffer, void, void>,
): Promise<FastifyReply> {
	const first = await blocks.next();
	const second = first.done ? first : await blocks.next();
	if (first.done || second.done) {
		const whole = first.done ? Buffer.alloc(0) : first.value;
		return reply.header("content-length", whole.length).send(whole);
	}
	return reply.send(Readable.from(withFirst([first.value, second.value], blocks), { objectMode: false }));
}

async function* withFirst(first: readonly Buffer[], rest: AsyncGenerator<Buffer, void, void>) {
	try {
		yield* first;
		yield* rest;
	} finally {
		await rest.return();
	}
}

/** Combines pieces into blocks. */
export async function* inBlocks(pieces: AsyncIterable<Buffer | string>): AsyncGenerator<Buffer, void, void> {
	let waiting: Buffer[] = [];
	let bytes = 0;
	for await (const piece of pieces) {
		const buffer = typeof piece === "string" ? Buffer.from(piece) : piece;
		waiting.push(buffer);
		bytes += buffer.length;
		if (bytes < BLOCK_BYTES) continue;
		yield Buffer.concat(waiting);
		waiting = [];
		bytes = 0;
	}
	if (bytes > 0) yield Buffer.concat(waiting);
}

/** Serializes a JSON array member by member. */
export async function* jsonArray(members: AsyncIterable<unknown>): AsyncGenerator<string, void, void> {
	let before = "[";
	for await (const member of members) {
		yield before + JSON.stringify(member);
		before = ",";
	}
	yield before === "[" ? "[]" : "]";
}
