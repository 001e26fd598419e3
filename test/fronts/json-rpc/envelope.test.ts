import { describe, expect, it } from "vitest";
import { RpcError } from "../../../src/fronts/json-rpc/errors.ts";
import { failure, parseMessage, result } from "../../../src/fronts/json-rpc/messages.ts";

describe("parseMessage", () => {
	it("parseMessage reads 127 levels of nesting and no more", () => {
		const nested = (depth: number) => `{"id":1,"method":"m","params":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
		expect(parseMessage(nested(127))).toMatchObject({ kind: "request" });
		expect(parseMessage(nested(128))).toMatchObject({ kind: "malformed", fault: "nested more than 127 deep" });
		expect(parseMessage("[".repeat(200))).toMatchObject({ kind: "malformed", fault: "nested more than 127 deep" });
	});

	it.each([
		['{"id":1,"method":"m","params":{"a":[1]}}', { kind: "request", id: "1", method: "m", params: { a: [1] } }],
		['{"method":"m","id":"x\\"y","trace":{}}', { kind: "request", id: '"x\\"y"', method: "m", params: undefined }],
		['{"jsonrpc":"2.0","id":0,"method":"m"}', { kind: "request", id: "0", method: "m", params: undefined }],
		['\t{ "id" : -7 , "method" : "" }\n', { kind: "request", id: "-7", method: "", params: undefined }],
		['{"id":1,"method":"m","trace":null}', { kind: "request", id: "1", method: "m", params: undefined }],
		[
			'{"id":1,"method":"m","trace":{"traceparent":"x","tracestate":null,"z":1}}',
			{ kind: "request", id: "1", method: "m", params: undefined },
		],
		['{"id":1,"method":"m","params":"\\ud83d\\ude00"}', { kind: "request", id: "1", method: "m", params: "😀" }],
		['{"method":"m","params":null}', { kind: "notification", method: "m" }],
		['{"method":"m","trace":5}', { kind: "notification", method: "m" }],
		['{"id":1,"result":null}', { kind: "answer" }],
		['{"id":1,"error":{"code":-1,"message":"m"}}', { kind: "answer" }],
	])("parseMessage reads %s", (text, message) => {
		expect(parseMessage(text)).toEqual(message);
	});

	it("parseMessage keeps every digit of a 64-bit id", () => {
		for (const id of ["9223372036854775807", "-9223372036854775808", "9007199254740993"]) {
			expect(parseMessage(`{"id":${id},"method":"m"}`)).toMatchObject({ kind: "request", id });
			expect(result(id, {})).toBe(`{"id":${id},"result":{}}`);
		}
	});

	it.each([
		["", /./],
		["not-json", /./],
		["[]", /object/],
		['[{"id":1,"method":"m"}]', /object/],
		["null", /object/],
		['"x"', /object/],
		["{}", /neither/],
		['{"id":1}', /neither/],
		['{"result":1}', /neither/],
		['{"id":1,"error":{"code":1.5,"message":"m"}}', /neither/],
		['{"id":1,"error":"x"}', /neither/],
		['{"id":null,"method":"m"}', /id is/],
		['{"id":1.5,"method":"m"}', /id is/],
		['{"id":1.0,"method":"m"}', /id is/],
		['{"id":1e3,"method":"m"}', /id is/],
		['{"id":[1],"method":"m"}', /id is/],
		['{"id":true,"method":"m"}', /id is/],
		['{"id":9223372036854775808,"method":"m"}', /id is/],
		['{"id":1,"method":2}', /method is/],
		['{"id":1,"id":2,"method":"m"}', /duplicate field `id`/],
		['{"id":1,"method":"m","params":{"a":{"b":1,"b":2}}}', /duplicate field `b`/],
		['{"id":1,"method":"m","params":[{"a":1,"\\u0061":2}]}', /duplicate field `a`/],
		['{"id":1,"method":"m"} x', /./],
		['{"id":1,"method":"m","trace":"x"}', /trace/],
		['{"id":1,"method":"m","trace":5}', /trace/],
		['{"id":1,"method":"m","trace":{"traceparent":5}}', /trace/],
		['{"id":1,"method":"m","trace":{"tracestate":5}}', /trace/],
		['{"id":1,"method":"m","params":"a\\ud800"}', /surrogate/],
		['{"id":1,"method":"m","params":"\\uDC00\\ud83d"}', /surrogate/],
		['{"id":1,"method":"m","params":{"\\ud800":1}}', /surrogate/],
		['{"id":"\\ud800","method":"m"}', /surrogate/],
	])("parseMessage rejects %s", (text, fault) => {
		expect(parseMessage(text)).toMatchObject({ kind: "malformed", fault: expect.stringMatching(fault) });
	});

	it("parseMessage is not misled by the content of strings", () => {
		const params = { 'a":1,"a': '{"x":1,"x":2}', b: "\\", c: '\\"', "{": "}" };
		const text = JSON.stringify({ id: 5, method: "m", params });
		expect(parseMessage(text)).toEqual({ kind: "request", id: "5", method: "m", params });
		expect(parseMessage('{"params":{"id":7},"method":"m"}')).toMatchObject({ kind: "notification" });
	});

	it("parseMessage accepts 262,144 values and no more", () => {
		// The object, its id and method, and the array: four.
		const message = (items: number) => `{"id":1,"method":"m","params":[${new Array(items).fill("0").join(",")}]}`;
		expect(parseMessage(message(262_140))).toMatchObject({ kind: "request" });
		expect(parseMessage(message(262_141))).toMatchObject({ kind: "malformed" });
	});

	it("parseMessage survives endless nesting", () => {
		expect(parseMessage("[".repeat(1_000_000))).toMatchObject({ kind: "malformed" });
		expect(parseMessage('{"a":'.repeat(100_000))).toMatchObject({ kind: "malformed" });
	});
});

it("an error has a code and a message and nothing else", () => {
	expect(failure('"a"', new RpcError(-32603, 'no "x"'))).toBe(
		'{"error":{"code":-32603,"message":"no \\"x\\""},"id":"a"}',
	);
});
