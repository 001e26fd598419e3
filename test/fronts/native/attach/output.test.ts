import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OutputWindow } from "../../../../src/fronts/native/attach/output.ts";

describe("an output window", () => {
	it("an output window is reduced by bytes sent and not consumed", () => {
		const window = new OutputWindow(100, 1000);
		window.send(60);
		expect(window.room).toBe(40);
		expect(window.consume(1030)).toBe(true);
		expect(window.room).toBe(70);
		expect(window.consume(1010)).toBe(true);
		expect(window.room).toBe(70);
		expect(window.consume(1061)).toBe(false);
	});

	it("an output window gains nothing from skipped bytes", () => {
		const window = new OutputWindow(100, 0);
		window.send(50);
		window.skip(1_000_000);
		expect(window.room).toBe(50);
		window.send(50);
		expect(window.room).toBe(0);
		window.consume(50);
		expect(window.room).toBe(50);
		window.consume(1_000_050);
		expect(window.room).toBe(100);
	});

	it("an output window counts exactly the bytes sent and not consumed, with any skips in between", () => {
		const steps = fc.array(fc.record({ kind: fc.constantFrom("send", "skip", "consume"), by: fc.nat(50) }));
		fc.assert(
			fc.property(steps, (all) => {
				const window = new OutputWindow(1_000_000, 0);
				let sent: number[] = [];
				let next = 0;
				for (const { kind, by } of all) {
					if (kind === "consume") {
						const to = Math.max(0, next - by);
						window.consume(to);
						sent = sent.filter((offset) => offset >= to);
						continue;
					}
					if (kind === "send") {
						window.send(by);
						sent.push(...Array.from({ length: by }, (_, index) => next + index));
					} else {
						window.skip(next + by);
					}
					next += by;
				}
				expect(window.inFlight).toBe(sent.length);
				expect(window.sent).toBe(next);
			}),
		);
	});
});
