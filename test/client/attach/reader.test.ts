/** Acknowledgments to the server: what the reader has read, and never more than this connection delivered. */

import { expect, it } from "vitest";
import { Reader } from "../../../src/client/attach/reader.ts";

const PART = 40_000;

const output = (offset: number) => ({ kind: "output", stream: "stdout", offset, bytes: new Uint8Array(PART) }) as const;

it("an output is acknowledged when the next one is requested, not when it arrives", async () => {
	const told: number[] = [];
	const reader = new Reader(0);
	reader.open({ from: 0, isOver: false }, (offset) => told.push(offset));
	for (let part = 0; part < 3; part++) reader.receive(output(part * PART));
	expect(told).toEqual([]);
	await reader.next();
	expect(told).toEqual([]);
	await reader.next();
	expect(told).toEqual([PART]);
	reader.acknowledgeAll();
	expect(told).toEqual([PART, 2 * PART]);
});

it("a new connection starts at unread output, and gets no acknowledgment beyond its own", async () => {
	const reader = new Reader(0);
	reader.open({ from: 0, isOver: false }, () => {});
	for (let part = 0; part < 3; part++) reader.receive(output(part * PART));
	await reader.next();
	reader.close();
	expect(reader.ask()).toBe(PART);
	// The reader continues with what it has before the connection starts.
	await reader.next();
	await reader.next();
	const told: number[] = [];
	reader.open({ from: PART, isOver: false }, (offset) => told.push(offset));
	const next = reader.next();
	expect(told).toEqual([]);
	reader.receive(output(PART));
	expect(told).toEqual([2 * PART]);
	reader.receive(output(2 * PART));
	expect(told).toEqual([2 * PART, 3 * PART]);
	reader.receive(output(3 * PART));
	expect(await next).toMatchObject({ value: { kind: "output", offset: 3 * PART } });
});

it("the end of a session that lost read output is still reported", async () => {
	const reader = new Reader(0);
	reader.open({ from: 0, isOver: false }, () => {});
	reader.receive(output(0));
	await reader.next();
	reader.close();
	expect(reader.ask()).toBe(PART);
	expect(() => reader.open({ from: 100, isOver: false }, () => {})).toThrow("was read up to");
	reader.open({ from: 100, isOver: true }, () => {});
	reader.receive({ type: "lost", offset: 100, message: "the keeper died" });
	expect(reader.isComplete).toBe(true);
	expect(await reader.next()).toEqual({
		value: { kind: "lost", offset: 100, message: "the keeper died" },
		done: false,
	});
});

it("a reader that stops keeps only the newest state events", async () => {
	const reader = new Reader(0);
	for (let fence = 0; fence < 1_000; fence++) {
		reader.push({ kind: "lease", lease: { fence, holder: null, exclusive: false, mine: false } });
	}
	expect(await reader.next()).toMatchObject({ value: { lease: { fence: 999 } } });
	reader.discard();
	expect(await reader.next()).toEqual({ value: undefined, done: true });
});
