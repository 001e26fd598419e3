import { describe, expect, it } from "vitest";
import { FailedLogins, networkOf } from "../../src/access/failed-logins.ts";
import { RateLimiter } from "../../src/core/async/rate-limit.ts";
import { FakeClock } from "../support/fake-clock.ts";

describe("new sessions", () => {
	it("new sessions are limited to bursts of a hundred, and to twenty per second on average", () => {
		const clock = new FakeClock();
		const bucket = new RateLimiter({ perSecond: 20, burst: 100 }, clock);
		const taken = (tries: number) => Array.from({ length: tries }, () => bucket.take()).filter((wait) => wait === 0);
		expect(taken(150)).toHaveLength(100);
		expect(bucket.take()).toBe(50);
		clock.advance(50);
		expect(bucket.take()).toBe(0);
		expect(bucket.take()).toBe(50);
		clock.advance(1000);
		expect(taken(50)).toHaveLength(20);
		clock.advance(3_600_000);
		expect(taken(150)).toHaveLength(100);
	});

	it("the rate of new sessions does not change when the clock is set", () => {
		const clock = new FakeClock();
		const bucket = new RateLimiter({ perSecond: 1, burst: 1 }, clock);
		expect(bucket.take()).toBe(0);
		clock.jump(3_600_000);
		expect(bucket.take()).toBe(1_000);
		clock.jump(-7_200_000);
		clock.advance(1_000);
		expect(bucket.take()).toBe(0);
	});

	it("new sessions are unlimited with a rate of zero", () => {
		const bucket = new RateLimiter({ perSecond: 0, burst: 0 }, new FakeClock());
		expect(Array.from({ length: 1000 }, () => bucket.take()).every((wait) => wait === 0)).toBe(true);
	});
});

describe("failed credentials", () => {
	it("failed credentials delay an address from the eleventh per minute on", () => {
		const clock = new FakeClock();
		const failures = new FailedLogins(clock);
		const note = () => failures.note("192.0.2.1");
		expect(Array.from({ length: 10 }, note)).toEqual(Array(10).fill(0));
		expect(note()).toBe(1000);
		clock.advance(400);
		expect(note()).toBe(600);
		expect(failures.note("192.0.2.2")).toBe(0);
	});

	it("failed credentials delay it equally when the clock is set back", () => {
		const clock = new FakeClock();
		const failures = new FailedLogins(clock);
		for (let index = 0; index < 10; index++) failures.note("a");
		expect(failures.note("a")).toBe(1_000);
		clock.jump(-3_600_000);
		expect(failures.note("a")).toBe(1_000);
	});

	it("the delay grows to five minutes, and resets after a quiet minute", () => {
		const clock = new FakeClock();
		const failures = new FailedLogins(clock);
		for (let index = 0; index < 10; index++) failures.note("a");
		const waits = Array.from({ length: 11 }, () => {
			const wait = failures.note("a");
			clock.advance(wait);
			return wait;
		});
		expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => seconds * 1000));
		clock.advance(60_001);
		expect(failures.note("a")).toBe(0);
	});

	it("failed credentials spread over time cause no delay", () => {
		const clock = new FakeClock();
		const failures = new FailedLogins(clock);
		for (let index = 0; index < 100; index++) {
			expect(failures.note("a")).toBe(0);
			clock.advance(7_000);
		}
	});

	it("failed credentials are stored for at most ten thousand addresses", () => {
		const failures = new FailedLogins(new FakeClock());
		for (let index = 0; index < 20_000; index++) failures.note(`10.0.${index >> 8}.${index & 255}`);
		expect(failures.size).toBe(10_000);
	});

	it.each([
		["192.0.2.1", "192.0.2.1"],
		["::ffff:192.0.2.1", "192.0.2.1"],
		["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
		["2001:db8::1", "2001:db8:0:0"],
		["fe80::1%eth0", "fe80:0:0:0"],
		["::1", "0:0:0:0"],
	])("failed credentials of %s count for %s", (address, network) => {
		expect(networkOf(address)).toBe(network);
	});
});
