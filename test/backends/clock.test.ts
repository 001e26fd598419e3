import { afterEach, expect, test, vi } from "vitest";
import { systemClock } from "../../src/backends/system-clock.ts";

afterEach(() => void vi.useRealTimers());

const DAY_MS = 24 * 60 * 60 * 1000;

test("a timer waits its full time, also beyond the limit of Node's timers", () => {
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
