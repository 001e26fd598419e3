import { describe, expect, it } from "vitest";
import { NO_ACTIVITY, PulseFold } from "../../src/core/pulse.ts";
import { tailOf } from "../../src/core/tail.ts";
import { FakeClock } from "../helpers/fake-clock.ts";

function folding() {
	const clock = new FakeClock();
	const fold = new PulseFold(clock);
	return {
		clock,
		fold,
		write: (bytes: number) => fold.note(bytes, clock.monotonic(), clock.now()),
		/** Prints a line every so often, so many times. */
		print(count: number, everyMs: number) {
			for (let index = 0; index < count; index++) {
				this.write(1);
				clock.advance(everyMs);
			}
		},
	};
}

describe("the activity of a session", () => {
	it("is the bytes of each of the last thirty intervals, and moves on while nothing is written", () => {
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

	it("does not care for a wall clock that is set", () => {
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

	it("is its newest lines, however it was cut, and no more than a few of them", () => {
		expect(tailOf([])).toBe("");
		expect(tailOf([bytesOf("one\nt"), bytesOf("wo")])).toBe("one\ntwo");
		expect(tailOf([bytesOf("y\n".repeat(1_000))])).toBe("y\n".repeat(20));
		expect(tailOf([bytesOf("\n".repeat(3))])).toBe("\n\n\n");
		expect(tailOf([bytesOf("x".repeat(3_000)), bytesOf("\nend")])).toBe(`${"x".repeat(2_044)}\nend`);
	});
});

describe("the usual interval between two outputs", () => {
	it("is not known before a few of them", () => {
		const session = folding();
		for (let index = 0; index < 4; index++) {
			expect(session.fold.read().usualIntervalMs).toBeNull();
			session.print(1, 5_000);
		}
		session.print(1, 5_000);
		expect(session.fold.read().usualIntervalMs).toBe(5_000);
	});

	it("is what it is as a rule, whatever came in between once", () => {
		const session = folding();
		session.print(20, 12_000);
		expect(session.fold.read().usualIntervalMs).toBe(12_000);
		session.clock.advance(60_000);
		session.print(30, 12_000);
		expect(session.fold.read().usualIntervalMs).toBeGreaterThan(11_999);
		expect(session.fold.read().usualIntervalMs).toBeLessThan(13_000);
	});

	it("of a flood is a second, and no less", () => {
		const session = folding();
		session.print(5_000, 4);
		expect(session.fold.read().usualIntervalMs).toBe(1_000);
	});
});
