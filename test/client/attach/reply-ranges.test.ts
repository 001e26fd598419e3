import { expect, it } from "vitest";
import { ReplyRanges } from "../../../src/client/attach/reply-ranges.ts";

function shown(turns: ReplyRanges, offset: number, text: string): [string, boolean][] {
	return turns.split(offset, Buffer.from(text)).map(({ bytes, mine }) => [Buffer.from(bytes).toString(), mine]);
}

it("output is split where a range starts", () => {
	const turns = new ReplyRanges();
	expect(shown(turns, 0, "ab")).toEqual([["ab", false]]);
	turns.change({ from: 4, mine: true });
	turns.change({ from: 6, mine: false });
	expect(shown(turns, 2, "cdefgh")).toEqual([
		["cd", false],
		["ef", true],
		["gh", false],
	]);
	expect(shown(turns, 8, "i")).toEqual([["i", false]]);
});

it("a later range replaces those that would start after it", () => {
	const turns = new ReplyRanges();
	turns.change({ from: 4, mine: true });
	turns.change({ from: 4, mine: false });
	expect(shown(turns, 4, "x")).toEqual([["x", false]]);
	turns.change({ from: 5, mine: true });
	expect(shown(turns, 5, "y")).toEqual([["y", true]]);
	turns.reset();
	expect(shown(turns, 6, "z")).toEqual([["z", false]]);
});
