import { describe, expect, it } from "vitest";
import { OutputCap } from "../../src/core/output-cap.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** What comes through a cap, piece by piece. */
function through(most: number | null, pieces: readonly string[]): (string | undefined)[] {
	const cap = new OutputCap(most);
	return pieces.map((piece) => {
		const taken = cap.take("stdout", bytes(piece));
		return taken && `${Buffer.from(taken.bytes)}${taken.capReached ? "|" : ""}`;
	});
}

describe("an output cap", () => {
	it("lets so many bytes through, says so with the last of them, and nothing after that", () => {
		expect(through(5, ["abc", "def", "ghi"])).toEqual(["abc", "de|", undefined]);
	});

	it("is reached by output that is exactly as long", () => {
		expect(through(5, ["abcde", "f"])).toEqual(["abcde|", undefined]);
		expect(through(6, ["abcde"])).toEqual(["abcde"]);
	});

	it("of zero is reached by the first output, without a byte of it", () => {
		expect(through(0, ["abc", "d"])).toEqual(["|", undefined]);
	});

	it("that is null lets everything through", () => {
		expect(through(null, ["abc", "def"])).toEqual(["abc", "def"]);
	});

	it("counts for each stream by itself", () => {
		const cap = new OutputCap(2);
		cap.take("stdout", bytes("abc"));
		expect(cap.take("stderr", bytes("u"))).toMatchObject({ capReached: false });
		expect([cap.hasReached("stdout"), cap.hasReached("stderr")]).toEqual([true, false]);
	});
});
