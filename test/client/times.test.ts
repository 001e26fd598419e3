import { expect, it } from "vitest";
import { Backoff, defaultTimes } from "../../src/client/times.ts";

it("pauses grow from a quarter of a second to ten seconds, with a jitter of up to half, and begin anew", () => {
	const longest = new Backoff(defaultTimes, () => 1);
	expect(Array.from({ length: 8 }, () => longest.next())).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
	longest.reset();
	expect(longest.next()).toBe(250);
	expect(new Backoff(defaultTimes, () => 0).next()).toBe(125);
});
