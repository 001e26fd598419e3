/** Request bodies: the first JSON value, member names in any case, exact types. */

import { describe, expect, test } from "vitest";
import { ExecdError } from "../../../../src/fronts/dropins/opensandbox/errors.ts";
import { type Body, readBody } from "../../../../src/fronts/dropins/opensandbox/request-body.ts";
import { processorMs } from "../../../support/cpu-time.ts";

function read(text: string, mayBeEmpty = false): Body {
	return readBody(Buffer.from(text), { mayBeEmpty });
}

function refused(work: () => unknown): void {
	expect(work).toThrow(ExecdError);
	expect(work).toThrow(expect.objectContaining({ status: 400, code: "INVALID_REQUEST_BODY" }));
}

describe("1.4: the first JSON value", () => {
	test("1.4: text after the first value is ignored", () => {
		for (const rest of ["", "\n", " }", '{"command":"b"}', "garbage", ' "unclosed'])
			expect(read(`{"command":"a}]\\"{"}${rest}`).string("command")).toBe('a}]"{');
		expect(read('\n\t {"command":"a"}null').string("command")).toBe("a");
	});

	test("1.4: the first value may be long, with text after it", () => {
		const command = "x".repeat(12 * 1024 * 1024);
		expect(read(`{"command":"${command}"} trailing`).string("command").length).toBe(command.length);
	});

	test("1.4: a body without a value is refused at once, whatever its length", async () => {
		const texts = [
			`{"${'\\"'.repeat(1024 * 1024)}`,
			`{"${"\\".repeat(1024 * 1024)}`,
			"[ ".repeat(100_000),
			'"'.repeat(100_000),
		];
		const readAll = () => texts.map((text) => refused(() => read(text)));
		expect(await processorMs(readAll)).toBeLessThan(1_000);
	});

	test("1.4: null means all defaults, also with text after it", () => {
		for (const text of ["null", " null {}", "null x"]) expect(read(text).string("command")).toBe("");
	});

	test("1.4: an empty body means all defaults only where permitted (I-44)", () => {
		for (const text of ["", " \n"]) {
			expect(read(text, true).string("cwd")).toBe("");
			refused(() => read(text));
		}
		expect(readBody(undefined, { mayBeEmpty: true }).string("cwd")).toBe("");
	});

	test("1.4: invalid JSON, or JSON that is not an object, is refused", () => {
		for (const text of ["{", "}", "x", '{"a":}', "[]", "[1] {}", '"text"', "1", "true", '{"a":1,}', "\uFEFF{}"]) {
			refused(() => read(text));
			refused(() => read(text, true));
		}
	});
});

describe("1.4: members", () => {
	test("1.4: names match in any case, unknown members are ignored, null counts as omitted", () => {
		const body = read('{"CoMMand":"a","other":{"b":[1]},"cwd":null,"TIMEOUT":5}');
		expect([body.string("command"), body.string("cwd"), body.integer("timeout", 0)]).toEqual(["a", "", 5]);
		expect(read('{"command":"a","COMMAND":null}').string("command")).toBe("a");
	});

	test("1.4: wrong types are refused", () => {
		refused(() => read('{"command":1}').string("command"));
		refused(() => read('{"background":"true"}').boolean("background"));
		refused(() => read('{"background":0}').boolean("background"));
		for (const value of ['"5"', "1.5", "-1", "1e30", "true", "[]", "{}"])
			refused(() => read(`{"uid":${value}}`).integer("uid", 0));
		refused(() => read('{"uid":4294967296}').integer("uid", 0, 4_294_967_295));
		for (const value of ['"A=1"', "[]", "1", '{"A":1}', '{"A":{}}'])
			refused(() => read(`{"envs":${value}}`).strings("envs"));
	});

	test("1.4: correct values are taken unchanged", () => {
		const body = read('{"background":true,"uid":4294967295,"envs":{"A":"1","a":"","B":null,"__proto__":"x"}}');
		expect(body.boolean("background")).toBe(true);
		expect(body.integer("uid", 0, 4_294_967_295)).toBe(4_294_967_295);
		expect(Object.entries(body.strings("envs"))).toEqual([
			["A", "1"],
			["a", ""],
			["B", ""],
			["__proto__", "x"],
		]);
		expect([read("{}").boolean("background"), read("{}").integer("uid", 0), read("{}").strings("envs")]).toEqual([
			false,
			undefined,
			{},
		]);
	});
});
