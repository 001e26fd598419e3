/** Text that is pasted into a terminal. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { withoutPasteEnds } from "../../../src/services/input/typing.ts";

const END = "\u001b[201~";

test.each([
	["an end marker", `a${END}b`, "a[201~b"],
	["a marker that forms around a removed one", `\u001b[20${END}1~`, "\u001b[20[201~1~"],
	["several ESC", `\u001b\u001b[201~`, "[201~"],
	["a begin marker", "\u001b[200~a", "\u001b[200~a"],
])("a pasted text cannot end its paste: %s", (_, text, pasted) => {
	expect(withoutPasteEnds(text)).toBe(pasted);
});

test("no text keeps or forms an end marker", () => {
	const pieces = fc.constantFrom("\u001b", "[", "2", "0", "1", "~", "[20", "1~", "[201~", END, "a");
	fc.assert(
		fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
			expect(withoutPasteEnds(parts.join(""))).not.toContain(END);
		}),
		{ numRuns: 2_000 },
	);
});
