/** The pages of limits are generated from the constants that set the limits. */

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { describe, limitsPages } from "../../scripts/limits.js";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

it.each([...limitsPages()])("%s has the values of the constants", (path, content) => {
	expect(read(path)).toBe(content);
});

it("a row has what is limited, its value and what happens, from the constant, a setting or C", () => {
	const rows = read("docs/limits.md").split("\n");
	expect(rows).toContain("| input streams of a session | 16,384 | a new one is refused with `limit_exceeded` |");
	expect(rows.find((row) => row.includes("`--max-sessions`"))).toContain("| 1,000 |");
	expect(rows.find((row) => row.startsWith("| threads of a process"))).toContain("| 64 |");
});

it.each([
	["QUEUE_ACTS", 10_000, "10,000"],
	["FEED_BYTES", 8 * 1024 ** 2, "8 MiB"],
	["BATCH_BYTES", 0.75 * 1024 ** 2, "768 KiB"],
	["TAIL_BYTES", 4094, "4,094 bytes"],
	["MEMORY_MIB", 512, "512 MiB"],
	["PATIENCE_MS", 250, "250 ms"],
	["LIFETIME_MS", 300_000, "5 min"],
	["MAX_GATE_TIMEOUT_MS", 86_400_000, "24 h"],
	["COOKIE_LIFETIME_MS", 30 * 86_400_000, "30 days"],
	["MAX_WAIT_S", 240, "4 min"],
	["VIEWERS_SHARE", 0.75, "75 %"],
	["COMMAND_LENGTH", 1000, "1,000 characters"],
	["maxWaitMs", 60_000, "1 min"],
	["WINDOW_BYTES", { lossless: 1024 ** 2, other: 512 * 1024 }, "lossless 1 MiB, other 512 KiB"],
	["MAX_RETENTION", { memoryBytes: 1024, journalBytes: 2048 }, "memory 1 KiB, journal 2 KiB"],
	[
		"SEARCHES",
		{ what: "searches", operator: 2, others: 4, each: 2, fair: 1, accounts: 3 },
		"2 for the operator, 4 for others: 2 each, 1 reserved for each of 3",
	],
] as const)("%s is shown as its name says", (name, value, shown) => {
	expect(describe(name, value)).toBe(shown);
});
