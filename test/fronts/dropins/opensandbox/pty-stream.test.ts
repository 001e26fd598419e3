/** The ring of the contract as a log reader: the output that a reconnecting client gets. */

import { expect, test } from "vitest";
import { systemClock } from "../../../../src/backends/system-clock.ts";
import { follow } from "../../../../src/core/log/cursor.ts";
import { Log } from "../../../../src/core/log/log.ts";
import {
	type Link,
	PtyReader,
	REPLAY_BYTES,
	type StreamItem,
} from "../../../../src/fronts/dropins/opensandbox/pty/stream.ts";

/** Bytes that encode their position. */
function bytesAt(offset: number, length: number): Buffer {
	return Buffer.from(Array.from({ length }, (_, index) => (offset + index) % 251));
}

/** A program that wrote chunks of these lengths and, by default, has exited. */
function wrote(base: number, lengths: number[], options: { isRunning?: boolean; memoryBytes?: number } = {}): Logged {
	const log = new Log({ clock: systemClock, memoryBytes: options.memoryBytes ?? REPLAY_BYTES });
	for (const length of lengths)
		log.append({ kind: "output", stream: "pty", bytes: bytesAt(base + log.end.offset, length) });
	if (!options.isRunning) {
		log.append({ kind: "exited", exit: { code: 3, signal: null } });
		log.append({ kind: "closed" });
	}
	return { base, log, session: { follow: (start, how) => follow(log, start, how) } };
}
type Logged = Link & { readonly log: Log };

async function replay(chain: readonly Link[], since: number, total: number) {
	const signal = new AbortController().signal;
	const reader = new PtyReader(chain, { since, total }, { signal, flow: "lossless" });
	const result = await reader.replay();
	await reader.close();
	if (!result) return undefined;
	const bytes = Buffer.concat(result.pieces);
	expect(bytes.equals(bytesAt(result.offset, bytes.byteLength))).toBe(true);
	return { offset: result.offset, length: bytes.byteLength };
}

test("2.10: the table of the ring holds", async () => {
	const total = REPLAY_BYTES + 5000;
	const chain = [wrote(0, new Array<number>(total / 24).fill(24), { isRunning: true })];
	expect(await replay(chain, total, total)).toBeUndefined();
	expect(await replay(chain, total + 99, total)).toBeUndefined();
	expect(await replay(chain, total - 3, total)).toEqual({ offset: total - 3, length: 3 });
	expect(await replay(chain, 5000, total)).toEqual({ offset: 5000, length: REPLAY_BYTES });
	expect(await replay(chain, 4999, total)).toEqual({ offset: 5000, length: REPLAY_BYTES });
	expect(await replay(chain, 0, total)).toEqual({ offset: 5000, length: REPLAY_BYTES });
	expect(await replay(chain, -7, total)).toEqual({ offset: 5000, length: REPLAY_BYTES });
});

test("6.3: replay starts at the beginning, in the middle, at the end, and with an exactly full ring", async () => {
	const chain = [wrote(0, [6, 4], { isRunning: true })];
	expect(await replay(chain, 0, 10)).toEqual({ offset: 0, length: 10 });
	expect(await replay(chain, 5, 10)).toEqual({ offset: 5, length: 5 });
	expect(await replay(chain, 10, 10)).toBeUndefined();
	expect(await replay([wrote(0, [REPLAY_BYTES], { isRunning: true })], 0, REPLAY_BYTES)).toEqual({
		offset: 0,
		length: REPLAY_BYTES,
	});
});

test("6.3: one write larger than the ring keeps its last bytes and counts all", async () => {
	const total = REPLAY_BYTES + 2;
	expect(await replay([wrote(0, [total], { isRunning: true })], 0, total)).toEqual({ offset: 2, length: REPLAY_BYTES });
});

test("6.3: sixteen writers and four readers count the same", async () => {
	const { log, session, base } = wrote(0, [], { isRunning: true });
	const controller = new AbortController();
	const kib = Buffer.alloc(1024, "x");
	const readers = Array.from({ length: 4 }, async () => {
		let bytes = 0;
		const reader = new PtyReader([{ session, base }], { since: 0, total: 0 }, controller);
		for await (const item of reader.live()) if (item.kind === "output") bytes += item.bytes.byteLength;
		return bytes;
	});
	const writers = Array.from({ length: 16 }, async () => {
		for (let count = 0; count < 64; count++) {
			log.append({ kind: "output", stream: "pty", bytes: kib });
			await Promise.resolve();
		}
	});
	await Promise.all(writers);
	log.append({ kind: "exited", exit: { code: 0, signal: null } });
	log.append({ kind: "closed" });
	expect(await Promise.all(readers)).toEqual([1, 2, 3, 4].map(() => 16 * 64 * 1024));
	expect(log.end.offset).toBe(16 * 64 * 1024);
});

test("2.1: the count continues over programs, and a replay crosses them", async () => {
	const chain = [wrote(0, [10, 10]), wrote(20, []), wrote(20, [30]), wrote(50, [5], { isRunning: true })];
	expect(await replay(chain, 0, 55)).toEqual({ offset: 0, length: 55 });
	expect(await replay(chain, 15, 55)).toEqual({ offset: 15, length: 40 });
	expect(await replay(chain, 20, 55)).toEqual({ offset: 20, length: 35 });
	expect(await replay(chain, 52, 55)).toEqual({ offset: 52, length: 3 });
});

test("a replay starts after a program whose session was removed", async () => {
	const chain = [wrote(0, [10]), { session: undefined, base: 10 }, wrote(30, [5], { isRunning: true })];
	expect(await replay(chain, 0, 35)).toEqual({ offset: 30, length: 5 });
	expect(await replay(chain, 31, 35)).toEqual({ offset: 31, length: 4 });
	expect(await replay(chain.slice(2), 0, 35)).toEqual({ offset: 30, length: 5 });
	expect(await replay([chain[0] as Link, chain[2] as Link], 5, 35)).toEqual({ offset: 30, length: 5 });
	// A part that never got a session is no gap.
	const empty = [wrote(0, [10]), { session: undefined, base: 10 }, wrote(10, [5], { isRunning: true })];
	expect(await replay(empty, 0, 15)).toEqual({ offset: 0, length: 15 });
});

test("bytes lost at the beginning show in the offset, even if nothing is left of the past", async () => {
	const lossy = wrote(0, [10, 10, 10], { isRunning: true, memoryBytes: 10 });
	expect(await replay([lossy], 5, 30)).toEqual({ offset: 20, length: 10 });
	const chain = [wrote(0, [10]), { session: undefined, base: 10 }, wrote(30, [], { isRunning: true })];
	expect(await replay(chain, 0, 30)).toEqual({ offset: 30, length: 0 });
});

test("I-15, I-16: bytes before the total are replay, later ones are live, and none is both or neither", async () => {
	const { log, session, base } = wrote(100, [10], { isRunning: true });
	// The event with the last byte of the past also has bytes of the future.
	const reader = new PtyReader(
		[{ session, base }],
		{ since: 102, total: 107 },
		{ signal: new AbortController().signal },
	);
	const past = await reader.replay();
	expect([past?.offset, Buffer.concat(past?.pieces ?? [])]).toEqual([102, bytesAt(102, 5)]);
	log.append({ kind: "output", stream: "pty", bytes: bytesAt(110, 4) });
	log.append({ kind: "exited", exit: { code: null, signal: "SIGKILL" } });
	log.append({ kind: "closed" });
	const live: StreamItem[] = [];
	for await (const item of reader.live()) live.push(item);
	expect(live).toEqual([
		{ kind: "output", channel: "stdout", offset: 107, bytes: bytesAt(107, 3) },
		{ kind: "output", channel: "stdout", offset: 110, bytes: bytesAt(110, 4) },
		{ kind: "exit", code: -1 },
	]);
});
