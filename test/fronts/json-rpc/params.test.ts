/** Parsing of parameters, and the error for each invalid one (contract §1.5). */

import { expect, test } from "vitest";
import {
	boolean,
	bytes,
	type Decode,
	list,
	map,
	nothing,
	object,
	oneOf,
	optional,
	string,
	unsigned,
} from "../../../src/fronts/json-rpc/params.ts";
import { refusalOf } from "../dropins/codex-exec/support/calls.ts";

const write = object({ processId: string, chunk: bytes, writeId: string });

const refused: [string, Decode<unknown>, unknown][] = [
	["-32602: missing field `writeId`", write, { processId: "p", chunk: "" }],
	["-32602: invalid type: null, expected a string", write, { processId: null, chunk: "", writeId: "w" }],
	["-32602: invalid type: null, expected an object", write, undefined],
	["-32602: invalid type: null, expected an object", write, null],
	["-32602: invalid type: sequence, expected an object", write, ["p", "", "w"]],
	['-32602: invalid type: string "p", expected an object', write, "p"],
	["-32602: invalid type: integer `1`, expected a string", string, 1],
	["-32602: invalid type: boolean `true`, expected a string", string, true],
	['-32602: invalid type: string "true", expected a boolean', boolean, "true"],
	["-32602: invalid type: floating point `1.5`, expected u64", unsigned, 1.5],
	['-32602: invalid type: string "1", expected u64', unsigned, "1"],
	["-32602: invalid value: integer `-1`, expected u64", unsigned, -1],
	["-32602: invalid value: integer `1e+30`, expected u64", unsigned, 1e30],
	["-32602: invalid type: map, expected a sequence", list(string), {}],
	["-32602: invalid type: integer `2`, expected a string", list(string), ["a", 2]],
	["-32602: invalid type: sequence, expected a map", map(string), []],
	["-32602: invalid type: null, expected a string", map(string), { A: null }],
	["-32602: unknown variant `kill`, expected `interrupt`", oneOf("interrupt"), "kill"],
	["-32602: unknown variant `some`, expected one of `all`, `none`", oneOf("all", "none"), "some"],
	["-32602: invalid base64", bytes, "YQ"],
	["-32602: invalid base64", bytes, "YQ="],
	["-32602: invalid base64", bytes, "Y Q="],
	["-32602: invalid base64", bytes, "YR=="],
	["-32602: invalid base64", bytes, "_-8="],
	["-32602: invalid base64", bytes, "YQ==YQ=="],
	["-32602: invalid type: map, expected no parameters", nothing, { a: 1 }],
	["-32602: invalid type: sequence, expected no parameters", nothing, []],
	["-32602: invalid type: integer `0`, expected no parameters", nothing, 0],
];

test.each(refused)("%s", (text, decode, value) => {
	expect(refusalOf(() => decode(value))).toBe(text);
});

test("an error does not repeat a long text", () => {
	expect(refusalOf(() => unsigned("x".repeat(1000)))).toBe(
		`-32602: invalid type: string "${"x".repeat(60)}…", expected u64`,
	);
});

test("unknown members are ignored, including the names of Object.prototype", () => {
	expect(object({ a: string })({ a: "1", toString: 5, metadata: {} })).toEqual({ a: "1" });
	expect(refusalOf(() => object({ toString: string })({}))).toBe("-32602: missing field `toString`");
});

test("an optional member may be absent or null, and must be valid otherwise", () => {
	const read = object({ waitMs: optional(unsigned, 0), maxBytes: optional(unsigned, null) });
	expect(read({})).toEqual({ waitMs: 0, maxBytes: null });
	expect(read({ waitMs: null, maxBytes: 7 })).toEqual({ waitMs: 0, maxBytes: 7 });
	expect(refusalOf(() => read({ waitMs: "5" }))).toContain("expected u64");
});

test("64-bit numbers, maps with any names and padded base64 are accepted", () => {
	expect(unsigned(0)).toBe(0);
	expect(unsigned(JSON.parse("18446744073709551615"))).toBe(2 ** 64);
	const env = map(string)(JSON.parse('{"__proto__":"a","B":"b"}'));
	expect(Object.entries(env)).toEqual([
		["__proto__", "a"],
		["B", "b"],
	]);
	expect(bytes("/+8=")).toEqual(Buffer.from([0xff, 0xef]));
	expect(bytes("")).toEqual(Buffer.alloc(0));
});

test("a method without parameters accepts none, null and an empty object", () => {
	for (const value of [undefined, null, {}]) expect(nothing(value)).toBeUndefined();
});
