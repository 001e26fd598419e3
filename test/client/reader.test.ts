/** What the server is told of the output: what the reader dealt with, and never more than this connection brought. */

import { expect, it } from "vitest";
import { Reader } from "../../src/client/reader.ts";

const PART = 40_000;

const output = (offset: number) => ({ kind: "output", stream: "stdout", offset, bytes: new Uint8Array(PART) }) as const;

it("an output is acknowledged when the next one is asked for, not when it arrives", async () => {
	const told: number[] = [];
	const reader = new Reader(0);
	reader.open({ from: 0, isOver: false }, (offset) => told.push(offset));
	for (let part = 0; part < 3; part++) reader.receive(output(part * PART));
	expect(told).toEqual([]);
	await reader.next();
	expect(told).toEqual([]);
	await reader.next();
	expect(told).toEqual([PART]);
	reader.finish();
	expect(told).toEqual([PART, 2 * PART]);
});

it("a new connection is asked for what was not handed over, and told no more than it has brought", async () => {
	const reader = new Reader(0);
	reader.open({ from: 0, isOver: false }, () => {});
	for (let part = 0; part < 3; part++) reader.receive(output(part * PART));
	await reader.next();
	reader.close();
	expect(reader.ask()).toBe(PART);
	// The reader goes on with what is there before the connection begins.
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

it("the end of a session that lost what we have read is told nevertheless", async () => {
	const reader = new Reader(0);
	reader.open({ from: 0, isOver: false }, () => {});
	reader.receive(output(0));
	await reader.next();
	reader.close();
	expect(reader.ask()).toBe(PART);
	expect(() => reader.open({ from: 100, isOver: false }, () => {})).toThrow("has been read up to");
	reader.open({ from: 100, isOver: true }, () => {});
	reader.receive({ type: "lost", offset: 100, message: "the keeper died" });
	expect(reader.isComplete).toBe(true);
	expect(await reader.next()).toEqual({
		value: { kind: "lost", offset: 100, message: "the keeper died" },
		done: false,
	});
});

it("a reader that stands still keeps only the newest of what says how things are", async () => {
	const reader = new Reader(0);
	for (let fence = 0; fence < 1_000; fence++) {
		reader.push({ kind: "lease", lease: { fence, holder: null, exclusive: false, mine: false } });
	}
	expect(await reader.next()).toMatchObject({ value: { lease: { fence: 999 } } });
	reader.drop();
	expect(await reader.next()).toEqual({ value: undefined, done: true });
});
