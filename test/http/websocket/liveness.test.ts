import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Liveness } from "../../../src/http/websocket/liveness.ts";

const times = { pingMs: 15_000, deadMs: 10_000 };
let clock = 0;
let connection: PassThrough;
let isPaused = false;
const pings: number[] = [];
const deaths: number[] = [];
const socket = {
	ping: () => pings.push(clock),
	terminate: () => deaths.push(clock),
	get isPaused() {
		return isPaused;
	},
};
const advance = (ms: number) => {
	clock += ms;
	vi.advanceTimersByTime(ms);
	// The result follows one turn later, after pending bytes are read.
	vi.advanceTimersByTime(1);
};
const hear = () => connection.emit("data", Buffer.from("x"));

beforeEach(() => {
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "setImmediate"] });
	connection = new PassThrough();
	isPaused = false;
	clock = 0;
	pings.length = 0;
	deaths.length = 0;
});
afterEach(() => vi.useRealTimers());

const watch = (signal: AbortSignal = new AbortController().signal, options: { deadMs?: number } = times) =>
	new Liveness(socket, connection, { pingMs: times.pingMs, ...options, signal, now: () => clock });

it("liveness pings every 15 s while anything comes back", () => {
	watch();
	for (let second = 0; second < 60; second++) {
		advance(1000);
		hear();
	}
	expect({ pings, deaths }).toEqual({ pings: [15_000, 30_000, 45_000, 60_000], deaths: [] });
});

it("liveness gives up 10 s after an unanswered ping", () => {
	watch();
	for (let second = 0; second < 29; second++) advance(1000);
	expect({ pings, deaths }).toEqual({ pings: [15_000], deaths: [25_000] });
});

it("liveness gives no result after the process slept, nor while it does not read", () => {
	watch();
	advance(15_000);
	clock += 5_000;
	advance(10_000);
	expect(deaths).toEqual([]);
	isPaused = true;
	advance(5_000);
	advance(10_000);
	expect(deaths).toEqual([]);
	isPaused = false;
	advance(5_000);
	advance(10_000);
	expect(deaths).toHaveLength(1);
});

it("liveness without a limit gives up no silent peer unless it is probed", () => {
	const liveness = watch(undefined, {});
	advance(60_000);
	expect(deaths).toEqual([]);
	liveness.probe(50);
	hear();
	advance(50);
	expect(deaths).toEqual([]);
	liveness.probe(50);
	advance(50);
	expect(deaths).toHaveLength(1);
});

it("liveness ends with its signal", () => {
	const controller = new AbortController();
	watch(controller.signal);
	advance(16_000);
	controller.abort();
	advance(60_000);
	expect(deaths).toEqual([]);
	expect(vi.getTimerCount()).toBe(0);
});
