import { describe, expect, it } from "vitest";
import { OutputCap } from "../../src/fronts/dropins/codex-app/processes/output-cap.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** The output that passes a cap, piece by piece. */
function through(most: number | null, pieces: readonly string[]): (string | undefined)[] {
	const cap = new OutputCap(most);
	return pieces.map((piece) => {
		const taken = cap.take("stdout", bytes(piece));
		return taken && `${Buffer.from(taken.bytes)}${taken.capReached ? "|" : ""}`;
	});
}

describe("an output cap", () => {
	it("an output cap passes this many bytes, reports the end with the last of them, and nothing after that", () => {
		expect(through(5, ["abc", "def", "ghi"])).toEqual(["abc", "de|", undefined]);
	});

	it("an output cap is reached by output of exactly its length", () => {
		expect(through(5, ["abcde", "f"])).toEqual(["abcde|", undefined]);
		expect(through(6, ["abcde"])).toEqual(["abcde"]);
	});

	it("an output cap of zero is reached by the first output, without a byte of it", () => {
		expect(through(0, ["abc", "d"])).toEqual(["|", undefined]);
	});

	it("an output cap of null passes everything", () => {
		expect(through(null, ["abc", "def"])).toEqual(["abc", "def"]);
	});

	it("an output cap counts for each stream separately", () => {
		const cap = new OutputCap(2);
		cap.take("stdout", bytes("abc"));
		expect(cap.take("stderr", bytes("u"))).toMatchObject({ capReached: false });
		expect([cap.hasReached("stdout"), cap.hasReached("stderr")]).toEqual([true, false]);
	});
});
