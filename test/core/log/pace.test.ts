import { expect, test } from "vitest";
import type { Fact } from "../../../src/core/log/event.ts";
import { Log } from "../../../src/core/log/log.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const chunk: Fact = { kind: "output", stream: "pty", bytes: new Uint8Array(100_000) };

function pacedLog() {
	const clock = new FakeClock();
	const pressure: boolean[] = [];
	const log = new Log({ clock, onPressure: (isFull) => pressure.push(isFull) });
	return { clock, pressure, log, pace: log.pace() };
}

test("a program ahead of the paced reader waits until the reader is nearer", () => {
	const { log, pace, pressure } = pacedLog();
	for (let i = 0; i < 2; i++) log.append(chunk);
	expect(pressure).toEqual([]);
	log.append(chunk);
	expect(pressure).toEqual([true]);
	pace.reached(100_000);
	expect(pressure).toEqual([true, false]);
});

test("a paced reader that stops is waited for briefly, and again once it has caught up", () => {
	const { log, pace, pressure, clock } = pacedLog();
	for (let i = 0; i < 3; i++) log.append(chunk);
	clock.advance(249);
	expect(pressure).toEqual([true]);
	clock.advance(1);
	expect(pressure).toEqual([true, false]);
	for (let i = 0; i < 3; i++) log.append(chunk);
	clock.advance(1_000);
	expect(pressure).toEqual([true, false]);
	pace.reached(600_000);
	for (let i = 0; i < 3; i++) log.append(chunk);
	expect(pressure).toEqual([true, false, true]);
});

test("a paced reader that has ended is not waited for", () => {
	const { log, pace, pressure } = pacedLog();
	for (let i = 0; i < 3; i++) log.append(chunk);
	pace.release();
	expect(pressure).toEqual([true, false]);
});
