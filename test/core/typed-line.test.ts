import { expect, it } from "vitest";
import { LONGEST_TYPED_BYTES, TypedLine } from "../../src/core/typed-line.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** What a line is after pieces of it were typed, with the last of them. */
function reading(...pieces: string[]) {
	const line = new TypedLine();
	for (const piece of pieces.slice(0, -1)) line.take(bytes(piece));
	const { text, isReadable, isEnded } = line.with(bytes(pieces.at(-1) ?? ""));
	return { text, isReadable, isEnded };
}

it.each<[string[], string]>([
	[["rm -rf /\r"], "rm -rf /\n"],
	[["r", "m", " ", "-r", "f /", "\r"], "rm -rf /\n"],
	[["ls\rrm", " -rf /\n"], "rm -rf /\n"],
	[["rm -rx", "\x7f", "f /\r"], "rm -rf /\n"],
	[["echo no\x15rm -rf /\r"], "rm -rf /\n"],
	[["echo no\x03rm -rf /\r"], "rm -rf /\n"],
	[["rm it\x17-rf /\r"], "rm -rf /\n"],
	[["\x1b[200~rm\t-rf /\x1b[201~", "\r"], "rm\t-rf /\n"],
	[["rm -rf ä", "\r"], "rm -rf ä\n"],
	[["rm -rf /\x04"], "rm -rf /\n"],
	[["rm -rf /\x0f"], "rm -rf /\n"],
	[["rm -rf /", "\x1b", "OM"], "rm -rf /\n"],
	[["rm -rf /\x1b[13", ";1u"], "rm -rf /\n"],
])("%j is read as what the shell gets", (pieces, text) => {
	expect(reading(...pieces)).toEqual({ text, isReadable: true, isEnded: true });
});

it.each([
	["\x1b[A\r"],
	["rm -r\t\r"],
	["\x12rm\r"],
	["\x19\r"],
	["\x1b[7707;1~"],
	["ls\x1b[D\x1b[D\r"],
	["\x1b[", "A", "\r"],
])("what becomes of %j only the program knows", (...pieces) => {
	expect(reading(...pieces)).toMatchObject({ isReadable: false, isEnded: true });
});

it("a line without an end is not given to the program", () => {
	expect(reading("rm -rf", " /")).toEqual({ text: "rm -rf /", isReadable: true, isEnded: false });
});

it("of a line that is too long it can't be said what it is, until it has ended", () => {
	const line = new TypedLine();
	line.take(bytes("x".repeat(LONGEST_TYPED_BYTES + 1)));
	expect(line.with(bytes("\r"))).toMatchObject({ isReadable: false, isEnded: true });
	line.take(bytes("\r"));
	expect(line.with(bytes("ls\r"))).toMatchObject({ text: "ls\n", isReadable: true });
});
