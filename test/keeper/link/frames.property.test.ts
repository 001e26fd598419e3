import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeFrame, type Frame, FrameDecoder } from "../../../src/keeper/link/link.ts";

/** Lengths around the decoder's buffer size and the 16-bit header length. */
const lengths = fc.oneof(
	fc.nat(300),
	fc.integer({ min: 16_300, max: 16_500 }),
	fc.integer({ min: 65_480, max: 65_600 }),
	fc.constant(300_000),
);
const frame = fc.record({
	header: fc.oneof(
		fc.record({ id: fc.nat(), text: fc.string({ unit: "grapheme" }) }),
		lengths.map((length) => ({ filler: "ü".repeat(length / 2) })),
	),
	body: lengths.chain((length) =>
		fc
			.uint8Array({ minLength: length % 20, maxLength: length % 20 })
			.map((bytes) => Buffer.concat([bytes, Buffer.alloc(length, length)])),
	),
});

test("frames are decoded as they were encoded, however the stream is cut, and bodies stay unchanged", () => {
	fc.assert(
		fc.property(
			fc.array(frame, { maxLength: 6 }),
			fc.array(fc.oneof(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 40_000 })), { minLength: 1 }),
			fc.boolean(),
			(frames, cuts, isPushed) => {
				const stream = Buffer.concat(frames.flatMap(({ header, body }) => encodeFrame(header, body)));
				const decoder = new FrameDecoder();
				const found: Frame<unknown>[] = [];
				for (let at = 0, turn = 0; at < stream.length; turn++) {
					const part = stream.subarray(at, at + (cuts[turn % cuts.length] as number));
					if (isPushed) {
						found.push(...decoder.push(part));
						at += part.length;
					} else {
						const read = part.copy(decoder.space());
						found.push(...decoder.fill(read));
						at += read;
					}
				}
				expect(found).toHaveLength(frames.length);
				// Encoded afterwards: a body must stay unchanged while others are read.
				expect(Buffer.concat(found.flatMap(({ header, body }) => encodeFrame(header, body))).equals(stream)).toBe(true);
			},
		),
		{ numRuns: 200 },
	);
});
