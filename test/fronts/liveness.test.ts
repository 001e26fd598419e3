import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { watchLiveness } from "../../src/fronts/native/socket/liveness.ts";

const limits = { pingMs: 15_000, deadMs: 10_000, lagMs: 2_000 };
let received = 0;
let clock = 0;
const pings: number[] = [];
const deaths: number[] = [];
const advance = (ms: number) => {
	clock += ms;
	vi.advanceTimersByTime(ms);
};

beforeEach(() => {
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
	received = 0;
	clock = 0;
	pings.length = 0;
	deaths.length = 0;
});
afterEach(() => vi.useRealTimers());

const watch = (signal: AbortSignal) =>
	watchLiveness({
		limits,
		signal,
		ping: () => pings.push(clock),
		received: () => received,
		onDead: () => deaths.push(clock),
		now: () => clock,
	});

it("pings every 15 s for as long as anything at all comes back", () => {
	watch(new AbortController().signal);
	for (let second = 0; second < 60; second++) {
		advance(1000);
		received++;
	}
	expect({ pings, deaths }).toEqual({ pings: [15_000, 30_000, 45_000, 60_000], deaths: [] });
});

it("gives up 10 s after a ping that nothing followed", () => {
	watch(new AbortController().signal);
	for (let second = 0; second < 60; second++) advance(1000);
	expect({ pings, deaths }).toEqual({ pings: [15_000], deaths: [25_000] });
});

it("gives no verdict when it was asleep itself", () => {
	watch(new AbortController().signal);
	advance(15_000);
	clock += 5_000;
	advance(10_000);
	expect(deaths).toEqual([]);
	advance(5_000);
	advance(10_000);
	expect(deaths).toHaveLength(1);
});

it("ends with its signal", () => {
	const controller = new AbortController();
	watch(controller.signal);
	advance(16_000);
	controller.abort();
	advance(60_000);
	expect(deaths).toEqual([]);
	expect(vi.getTimerCount()).toBe(0);
});
