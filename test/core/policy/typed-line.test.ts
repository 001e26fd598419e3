import { expect, it } from "vitest";
import { LONGEST_TYPED_BYTES, TypedLine } from "../../../src/core/policy/typed-line.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** The reading of a line after pieces of it were typed, with the last of them. */
function reading(pieces: readonly string[], mode: "pty" | "pipe" = "pty") {
	const line = new TypedLine({ mode });
	for (const piece of pieces.slice(0, -1)) line.take(bytes(piece));
	return line.with(bytes(pieces.at(-1) ?? ""));
}

it.each<[string[], string]>([
	[["rm -rf /\r"], "rm -rf /\n"],
	[["r", "m", " ", "-r", "f /", "\r"], "rm -rf /\n"],
	[["ls\rrm", " -rf /\n"], "rm -rf /\n"],
	[["rm -rx", "\x7f", "f /\r"], "rm -rf /\n"],
	[["echo no\x15rm -rf /\r"], "rm -rf /\n"],
	[["echo no\x03rm -rf /\r"], "rm -rf /\n"],
	[["\x1b[200~rm -rf /\x1b[201~", "\r"], "rm -rf /\n"],
	[["rm -\x1b[200~rf /\x1b[201~", "\r"], "rm -rf /\n"],
	[["rm -rf ä", "\r"], "rm -rf ä\n"],
	[["\x04rm -rf /\r"], "rm -rf /\n"],
	[["\x1b[200~true\rtrue\x1b[201~\r", "no\x15rm -rf /\r"], "rm -rf /\n"],
	// A program may ignore the key.
	[["rm -\x15rf /\r"], "rm -rf /\n"],
	[["rm -\x03rf /\r"], "rm -rf /\n"],
	[["rm -rf /;\x15true\r"], "rm -rf /;true\n"],
])("%j may be read as %j", (pieces, text) => {
	const { texts, isReadable, isEnded } = reading(pieces);
	expect({ isReadable, isEnded }).toEqual({ isReadable: true, isEnded: true });
	expect(texts).toContain(text);
});

it.each([
	["\x1b[A"],
	["rm -r\t"],
	["\x12"],
	["\x19"],
	["\x1b[7707;1~"],
	["rm -\x04"],
	["rm -", "\x04"],
	["rm it\x17"],
	["rm -rf /;\b"],
	["rm -\x0f"],
	["rm -\x1bOM"],
	["rm -\x1b[13u"],
	["rm -rf /\x1ba"],
	["\x18\x05"],
	["\x1a"],
	["rm -rf /\x9b"],
	// Some shells continue into the previous line.
	["if true; rm -\r", "\x7f"],
	["if true; rm -\r", "\x15"],
	// The number of bytes or columns erased differs.
	["rm -e\u0301\x7f"],
	// Within a paste it is text.
	["\x1b[200~rm -rf /;\x15"],
	["\x1b[200~true\r", "rm -rf /;\x15"],
])("the effect of %j is known only to the program, at once and when the line ends", (...pieces) => {
	expect(reading(pieces)).toMatchObject({ isReadable: false, hasUnknownKeys: true, isEnded: false });
	expect(reading([...pieces, "\r"])).toMatchObject({ isReadable: false, hasUnknownKeys: false, isEnded: true });
});

it.each(["\x03", "\x1a", "\x1c"])("%j sends a signal, and only when it is typed", (key) => {
	expect([reading(["ls", key]), reading([key, "ls"])].map(({ hasSignal }) => hasSignal)).toEqual([true, false]);
});

it("a pipe has no line editing, and only a newline ends a line", () => {
	for (const key of ["\x15", "\x7f", "\x03", "\x04", "\r"]) {
		const { texts, isReadable, isEnded } = reading([`rm -rf /;${key}`, "true\n"], "pipe");
		expect({ isReadable, isEnded }).toEqual({ isReadable: true, isEnded: true });
		expect(texts).toContain(`rm -rf /;${key}true\n`);
	}
	expect(reading(["rm -rf /\r"], "pipe").isEnded).toBe(false);
});

it("a line without an end is not given to the program", () => {
	expect(reading(["rm -rf", " /"])).toMatchObject({ texts: ["rm -rf /"], isReadable: true, isEnded: false });
});

it("a command is judged literally, and after the text on the line", () => {
	const line = new TypedLine({ mode: "pty" });
	line.take(bytes("rm -"));
	expect(line.withCommand(bytes("rf / #\x15\x12\r"))).toMatchObject({
		texts: expect.arrayContaining(["rf / #\x15\x12\n", "rf / #\n", "rm -rf / #\n"]),
		isReadable: true,
		hasUnknownKeys: false,
	});
});

it.each([
	["that is too long", LONGEST_TYPED_BYTES + 1, false],
	["that was begun before anybody looked", 1, true],
])("a line %s is unreadable until it has ended", (_, length, isBegun) => {
	const line = new TypedLine({ mode: "pty", isBegun });
	line.take(bytes("x".repeat(length - 1)));
	expect(line.with(bytes("\r")).isReadable).toBe(!isBegun);
	line.take(bytes("x"));
	expect(line.with(bytes("\r"))).toMatchObject({ isReadable: false, isEnded: true });
	line.take(bytes("\r"));
	expect(line.with(bytes("ls\r"))).toMatchObject({ texts: ["ls\n"], isReadable: true });
});

it("a line of any length with an editing key is readable", () => {
	const text = "x".repeat(200_000);
	const { texts, isReadable } = reading([`${text}y\x7f\r`]);
	expect(isReadable).toBe(true);
	expect(texts.includes(`${text}\n`)).toBe(true);
});
