import { expect, it } from "vitest";
import { Backoff, defaultTimeouts } from "../../../src/client/http/retries.ts";

it("retry delays grow from a quarter of a second to ten seconds, with jitter of up to half, and start over", () => {
	const longest = new Backoff(defaultTimeouts, () => 1);
	expect(Array.from({ length: 8 }, () => longest.next())).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
	longest.reset();
	expect(longest.next()).toBe(250);
	expect(new Backoff(defaultTimeouts, () => 0).next()).toBe(125);
});
