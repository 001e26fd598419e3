/** The playback clock and the recording parser. */

import { describe, expect, it } from "vitest";
import {
	advance,
	formatClock,
	initialPlayback,
	nearestMoment,
	parsePlace,
	seek,
	type Timeline,
	withSpeed,
} from "../../../web/terminal/playback-clock.ts";
import {
	activityOf,
	type IdleRange,
	idleRanges,
	type RecordedEvent,
	RecordingParser,
	timeOfOffset,
} from "../../../web/terminal/recording.ts";

const output = (at: number, text = "x"): RecordedEvent => ({ at, kind: "output", text });
const playing = { ...initialPlayback, isPlaying: true };
const line = (durationMs: number, idle: readonly IdleRange[] = []): Timeline => ({
	durationMs,
	idle,
	isGrowing: false,
});

describe("a playback", () => {
	it("playback advances with time at its speed, and stops at the end", () => {
		const real = { ...playing, skipsIdle: false };
		expect(advance(real, 500, line(10_000)).position).toBe(500);
		expect(advance({ ...real, speed: 4 }, 500, line(10_000)).position).toBe(2_000);
		expect(advance(real, 99_000, line(10_000))).toMatchObject({ position: 10_000, isPlaying: false });
		expect(advance({ ...real, isPlaying: false }, 500, line(10_000)).position).toBe(0);
	});

	it("playback waits at the end of a running session, and continues with it", () => {
		const growing = (durationMs: number): Timeline => ({ durationMs, idle: [], isGrowing: true });
		const atEnd = advance(playing, 99_000, growing(10_000));
		expect(atEnd).toMatchObject({ position: 10_000, isPlaying: true });
		expect(advance(atEnd, 500, growing(11_000)).position).toBe(10_500);
	});

	it("playback jumps over idle ranges without changing the timeline", () => {
		const idle = idleRanges([output(1_000), output(60_000), output(60_100)], 60_100);
		expect(idle).toEqual([{ from: 1_000, to: 60_000 }]);
		const at = (elapsed: number) => advance(playing, elapsed, line(60_100, idle)).position;
		expect(at(900)).toBe(900);
		expect(at(1_300)).toBe(1_300);
		expect(at(1_400)).toBe(59_800);
		expect(at(1_700)).toBe(60_100);
		// Seeking into an idle range does not get stuck there.
		expect(advance({ ...playing, position: 30_000 }, 100, line(60_100, idle)).position).toBe(59_800);
		expect(advance({ ...playing, skipsIdle: false }, 1_400, line(60_100, idle)).position).toBe(1_400);
	});

	it("many small steps reach the same position as a large one", () => {
		const idle = [
			{ from: 1_000, to: 5_000 },
			{ from: 6_000, to: 20_000 },
		];
		let small = playing;
		for (let step = 0; step < 200; step++) small = advance(small, 16, line(30_000, idle));
		expect(small.position).toBeCloseTo(advance(playing, 3_200, line(30_000, idle)).position, 6);
	});

	it("seeking stays in bounds; commands and speeds change step by step", () => {
		expect([seek(playing, -5, 100).position, seek(playing, 500, 100).position]).toEqual([0, 100]);
		const commands = [1_000, 5_000, 9_000];
		expect([
			nearestMoment(commands, 5_100, -1),
			nearestMoment(commands, 5_000, 1),
			nearestMoment(commands, 9_500, 1),
		]).toEqual([1_000, 9_000, undefined]);
		expect([withSpeed(playing, 1).speed, withSpeed({ ...playing, speed: 4 }, 1).speed]).toEqual([2, 4]);
	});
});

it("a link with a time and a link with an offset parse differently", () => {
	expect(parsePlace("2026-11-16T13:54:11.500Z")).toEqual({ time: Date.UTC(2026, 10, 16, 13, 54, 11, 500) });
	expect(parsePlace("1834")).toEqual({ offset: 1834 });
	expect([parsePlace("soon"), parsePlace("")]).toEqual([undefined, undefined]);
	expect([formatClock(129_400), formatClock(3_729_000)]).toEqual(["2:09", "1:02:09"]);
});

describe("a recording", () => {
	const cast = [
		'{"version":2,"width":80,"height":24}',
		'[0.5,"o","gr\u00fc\u00dfe"]',
		'[1.25,"r","100x30"]',
		'[1.5,"m","head -c 2000 log"]',
		'[2,"m","bytes 7 to 1000 are gone (dropped)"]',
		'[3,"o","end"]',
		'[4,"x","0"]',
		"",
	].join("\n");
	const events: RecordedEvent[] = [
		output(500, "grüße"),
		{ at: 1_250, kind: "resized", cols: 100, rows: 30 },
		{ at: 2_000, kind: "gap", to: 1000 },
		output(3_000, "end"),
	];

	it("a recording parses the same wherever its chunks end", () => {
		const bytes = new TextEncoder().encode(cast);
		for (const size of [1, 7, bytes.length]) {
			const parser = new RecordingParser();
			const read: RecordedEvent[] = [];
			for (let at = 0; at < bytes.length; at += size) read.push(...parser.add(bytes.subarray(at, at + size)));
			expect(parser.header).toEqual({ cols: 80, rows: 24 });
			expect(read).toEqual(events);
		}
	});

	it("a recording maps offsets to times, and times to amounts", () => {
		expect([timeOfOffset(events, 0), timeOfOffset(events, 6), timeOfOffset(events, 1_001)]).toEqual([500, 500, 3_000]);
		expect(activityOf(events, 4_000, 4)).toEqual([5, 0, 0, 3]);
	});
});
