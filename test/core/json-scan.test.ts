/** A JSON text that is too expensive is refused before it is parsed, and no other text is. */

import { expect, it } from "vitest";
import { excessOf } from "../../src/core/json-scan.ts";

const listOf = (count: number, item: string) => `[${Array.from({ length: count }, () => item).join(" ,\n")}]`;
const membersOf = (count: number, value: string) =>
	`{${Array.from({ length: count }, (_, index) => `"n${index}" :\t${value}`).join(",")}}`;
const deep = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;

it.each(["1", "-1.5e3", "null", '""', '"a, b: [{"', '"\\\\"', '"\\"]"', "{}", "[]"])(
	"JSON may have 262,144 values: a list and 262,143 of %s",
	(item) => {
		expect(excessOf(listOf(262_143, item))).toBeUndefined();
		expect(excessOf(listOf(262_144, item))).toBe("more than 262144 values");
	},
);

it.each(["1", '"a:b"', "[]", '{"deeper":1}'])(
	"JSON may have 16,384 names over all objects, with the value %s",
	(value) => {
		const names = value.includes("deeper") ? 8_192 : 16_384;
		expect(excessOf(membersOf(names, value))).toBeUndefined();
		expect(excessOf(membersOf(names + 1, value))).toBe("more than 16384 names");
	},
);

it("JSON may be nested 127 deep", () => {
	expect(excessOf(deep(127))).toBeUndefined();
	expect(excessOf(deep(128))).toBe("nested more than 127 deep");
	expect(excessOf(`[${"[],".repeat(1_000)}[]]`)).toBeUndefined();
	expect(excessOf('{"a":'.repeat(128))).toBe("nested more than 127 deep");
});

it("a long string, number or run of blanks is accepted, with any content of the string", () => {
	expect(excessOf(JSON.stringify([':,[]{}"\\ '.repeat(100_000)]))).toBeUndefined();
	expect(excessOf("1".repeat(1_000_000))).toBeUndefined();
	expect(excessOf(`"${"\\".repeat(1_000_000)}`)).toBeUndefined();
	expect(excessOf(" ".repeat(1_000_000))).toBeUndefined();
});
