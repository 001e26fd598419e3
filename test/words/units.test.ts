import { describe, expect, it } from "vitest";
import { formatDuration, parseDuration, parseSize } from "../../src/words/units.ts";

describe("parseDuration", () => {
	it.each([
		["0", 0],
		["500ms", 500],
		["5s", 5000],
		["10m", 600_000],
		["1h30m", 5_400_000],
		["2.5s", 2500],
		["1D", 86_400_000],
		[" 1s ", 1000],
	])("%j is %d ms", (text, ms) => expect(parseDuration(text)).toBe(ms));

	it.each(["", "5", "-5s", "s", "5 s", "1s2", "5x", "1e3s", "9999999999999999d"])("%j is refused", (text) => {
		expect(() => parseDuration(text)).toThrow(RangeError);
	});
});

describe("parseSize", () => {
	it.each([
		["0", 0],
		["65536", 65536],
		["64KiB", 65536],
		["64k", 65536],
		["1.5m", 1_572_864],
		["1 GiB", 1024 ** 3],
		["2MB", 2_000_000],
		["7b", 7],
	])("%j is %d bytes", (text, bytes) => expect(parseSize(text)).toBe(bytes));

	it.each(["", "-1", "k", "1x", "1.k", "lots", "99999999999g"])("%j is refused", (text) => {
		expect(() => parseSize(text)).toThrow(RangeError);
	});
});

describe("formatDuration", () => {
	it.each([
		[-5, "0s"],
		[0, "0s"],
		[999, "0s"],
		[59_999, "59s"],
		[60_000, "1m"],
		[7_200_000, "2h"],
		[900_000_000, "10d"],
	])("%d ms is %s", (ms, text) => expect(formatDuration(ms)).toBe(text));
});
