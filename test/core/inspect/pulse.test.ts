import { describe, expect, it } from "vitest";
import { NO_ACTIVITY, OutputActivityCounter } from "../../../src/core/inspect/output-activity.ts";
import { tailOf } from "../../../src/core/log/output-tail.ts";
import { FakeClock } from "../../support/fake-clock.ts";

function folding() {
	const clock = new FakeClock();
	const fold = new OutputActivityCounter(clock);
	return {
		clock,
		fold,
		write: (bytes: number) => fold.note(bytes, clock.monotonic(), clock.now()),
		/** Prints a line at an interval, this many times. */
		print(count: number, everyMs: number) {
			for (let index = 0; index < count; index++) {
				this.write(1);
				clock.advance(everyMs);
			}
		},
	};
}

describe("the activity of a session", () => {
	it("activity has the bytes of each of the last thirty intervals, and advances during silence", () => {
		const { clock, fold, write } = folding();
		expect(fold.read()).toMatchObject({ activity: NO_ACTIVITY, lastOutputAt: null, usualIntervalMs: null });
		write(5);
		write(6);
		clock.advance(10_000);
		write(7);
		const at = clock.now();
		expect(fold.read()).toMatchObject({ activity: [...NO_ACTIVITY.slice(2), 11, 7], lastOutputAt: at });
		clock.advance(280_000);
		expect(fold.read().activity).toEqual([11, 7, ...NO_ACTIVITY.slice(2)]);
		clock.advance(10_000);
		expect(fold.read().activity).toEqual([7, ...NO_ACTIVITY.slice(1)]);
		clock.advance(10_000_000);
		expect(fold.read()).toMatchObject({ activity: NO_ACTIVITY, lastOutputAt: at });
	});

	it("activity does not depend on the wall clock", () => {
		const { clock, fold, write } = folding();
		write(5);
		clock.jump(-3_600_000);
		write(6);
		clock.jump(7_200_000);
		write(7);
		expect(fold.read().activity).toEqual([...NO_ACTIVITY.slice(1), 18]);
	});
});

describe("the tail of the output", () => {
	const bytesOf = (text: string) => new TextEncoder().encode(text);

	it("the tail has the newest lines, however they were split, and only a few", () => {
		expect(tailOf([])).toBe("");
		expect(tailOf([bytesOf("one\nt"), bytesOf("wo")])).toBe("one\ntwo");
		expect(tailOf([bytesOf("y\n".repeat(1_000))])).toBe("y\n".repeat(20));
		expect(tailOf([bytesOf("\n".repeat(3))])).toBe("\n\n\n");
		expect(tailOf([bytesOf("x".repeat(3_000)), bytesOf("\nend")])).toBe(`${"x".repeat(2_044)}\nend`);
	});
});

describe("the usual interval between two outputs", () => {
	it("the usual interval is unknown before a few outputs", () => {
		const session = folding();
		for (let index = 0; index < 4; index++) {
			expect(session.fold.read().usualIntervalMs).toBeNull();
			session.print(1, 5_000);
		}
		session.print(1, 5_000);
		expect(session.fold.read().usualIntervalMs).toBe(5_000);
	});

	it("the usual interval ignores a single exception", () => {
		const session = folding();
		session.print(20, 12_000);
		expect(session.fold.read().usualIntervalMs).toBe(12_000);
		session.clock.advance(60_000);
		session.print(30, 12_000);
		expect(session.fold.read().usualIntervalMs).toBeGreaterThan(11_999);
		expect(session.fold.read().usualIntervalMs).toBeLessThan(13_000);
	});

	it("the usual interval of a flood is one second, not less", () => {
		const session = folding();
		session.print(5_000, 4);
		expect(session.fold.read().usualIntervalMs).toBe(1_000);
	});
});
