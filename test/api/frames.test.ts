import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
	type ClientFrame,
	decodeClientFrame,
	decodeServerFrame,
	encodeClientFrame,
	encodeServerFrame,
	FrameError,
	outputHead,
	type ServerFrame,
} from "../../src/api/frames.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const bytes = (text: string) => new Uint8Array(Buffer.from(text));

const server: [what: string, frame: ServerFrame, literal: string][] = [
	["stdout", { kind: "output", stream: "stdout", offset: 5, bytes: bytes("hi") }, "01 0000000000000005 6869"],
	["stderr", { kind: "output", stream: "stderr", offset: 2 ** 32, bytes: bytes("!") }, "02 0000000100000000 21"],
	["nothing", { kind: "output", stream: "stdout", offset: 0, bytes: bytes("") }, "01 0000000000000000"],
	["a receipt", { kind: "receipt", next: 258, written: 1 }, "80 0000000000000102 0000000000000001"],
	[
		"the largest numbers",
		{ kind: "receipt", next: Number.MAX_SAFE_INTEGER, written: Number.MAX_SAFE_INTEGER },
		"80 001fffffffffffff 001fffffffffffff",
	],
];
const client: [what: string, frame: ClientFrame, literal: string][] = [
	["input", { kind: "input", position: 3, bytes: bytes("ls\n") }, "00 0000000000000003 6c730a"],
	["no input", { kind: "input", position: 0, bytes: bytes("") }, "00 0000000000000000"],
	["consumed", { kind: "consumed", offset: 65536 }, "04 0000000000010000"],
];

describe("frames", () => {
	it.each(server)("of the server: %s", (_, frame, literal) => {
		const encoded = encodeServerFrame(frame);
		expect(hex(encoded)).toBe(literal.replaceAll(" ", ""));
		expect(decodeServerFrame(encoded)).toEqual(frame);
	});

	it.each(client)("of the client: %s", (_, frame, literal) => {
		const encoded = encodeClientFrame(frame);
		expect(hex(encoded)).toBe(literal.replaceAll(" ", ""));
		expect(decodeClientFrame(encoded)).toEqual(frame);
	});

	it("have a head that can be sent apart from the bytes", () => {
		expect(hex(outputHead("stderr", 7))).toBe("020000000000000007");
	});

	it.each([
		["empty", ""],
		["only a kind", "00"],
		["a position cut off", "0000000000000000"],
		["an unknown kind", "050000000000000000"],
		["a position of 2^53", "000020000000000000"],
		["the largest position", "04ffffffffffffffff"],
		["more after consumed", "04000000000000000000"],
	])("from a client are refused: %s", (_, literal) => {
		expect(() => decodeClientFrame(new Uint8Array(Buffer.from(literal, "hex")))).toThrow(FrameError);
	});

	it.each([
		["a receipt cut off", "800000000000000001"],
		["a receipt with more", `80${"00".repeat(17)}`],
		["what only clients send", "040000000000000000"],
	])("from a server are refused: %s", (_, literal) => {
		expect(() => decodeServerFrame(new Uint8Array(Buffer.from(literal, "hex")))).toThrow(FrameError);
	});

	it("are read from anywhere in a buffer, and never fail otherwise than with a FrameError", () => {
		fc.assert(
			fc.property(fc.uint8Array({ maxLength: 64 }), fc.nat(8), (body, shift) => {
				const whole = new Uint8Array(shift + body.length);
				whole.set(body, shift);
				for (const decode of [decodeClientFrame, decodeServerFrame]) {
					try {
						expect(decode(whole.subarray(shift))).toEqual(decode(body));
					} catch (error) {
						expect(error).toBeInstanceOf(FrameError);
					}
				}
			}),
		);
	});
});
