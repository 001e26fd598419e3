import { afterEach, expect, test, vi } from "vitest";
import { systemClock } from "../../src/backends/clock.ts";

afterEach(() => void vi.useRealTimers());

const DAY_MS = 24 * 60 * 60 * 1000;

test("waits as long as it was told, also for longer than one timer of Node can", () => {
	vi.useFakeTimers();
	const calls: string[] = [];
	systemClock.after(60 * DAY_MS, () => calls.push("late"));
	const cancel = systemClock.after(40 * DAY_MS, () => calls.push("never"));
	vi.advanceTimersByTime(30 * DAY_MS);
	cancel();
	vi.advanceTimersByTime(30 * DAY_MS - 1);
	expect(calls).toEqual([]);
	vi.advanceTimersByTime(1);
	expect(calls).toEqual(["late"]);
});
