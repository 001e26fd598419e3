/** Whatever a new connection repeats, a reader gets each byte and each event once and in order, or a gap. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { ResumePosition } from "../../../src/client/attach/resume-position.ts";

type Entry = { length: number };

/** A log of outputs of some length, and events without bytes, which have length zero. */
const logs = fc.array(fc.record({ length: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 9 })) }), {
	minLength: 1,
	maxLength: 30,
});
/** Each connection starts at a byte that was read, and delivers this many entries. */
const connections = fc.array(fc.record({ back: fc.nat(20), entries: fc.nat(12) }), { maxLength: 12 });

test("every sequence of connections delivers each byte and each event once", () => {
	fc.assert(
		fc.property(logs, connections, (log, cuts) => {
			const placed = place(log);
			const inbox = new ResumePosition(0);
			const seen: string[] = [];
			for (const cut of [...cuts, { back: 0, entries: log.length }]) {
				const since = Math.max(0, (inbox.position ?? 0) - cut.back);
				inbox.resume(since, since, false);
				// As a cursor does: the first event that contains the byte, or is at or after it.
				const from = placed.filter(({ offset, length }) => (length > 0 ? offset + length > since : offset >= since));
				for (const { offset, length, number } of from.slice(0, cut.entries)) {
					if (length === 0) {
						if (inbox.event(offset)) seen.push(`event ${number}`);
						continue;
					}
					const start = Math.max(offset, since);
					const bytes = Uint8Array.from({ length: offset + length - start }, (_, index) => (start + index) % 256);
					const output = inbox.output(start, bytes);
					if (!output) continue;
					output.bytes.forEach((byte, index) => {
						expect(byte).toBe((output.offset + index) % 256);
						seen.push(`byte ${output.offset + index}`);
					});
				}
			}
			const wanted = placed.flatMap(({ offset, length, number }) =>
				length === 0 ? [`event ${number}`] : Array.from({ length }, (_, index) => `byte ${offset + index}`),
			);
			expect(seen).toEqual(wanted);
		}),
		{ numRuns: 2_000 },
	);
});

function place(log: readonly Entry[]): { offset: number; length: number; number: number }[] {
	let end = 0;
	return log.map(({ length }, number) => {
		const offset = end;
		end += length;
		return { offset, length, number };
	});
}

test("a gap is reduced to the part that has not arrived", () => {
	const inbox = new ResumePosition(0);
	inbox.resume(0, 0, false);
	inbox.output(0, new Uint8Array(10));
	inbox.resume(4, 20, false);
	expect(inbox.gap({ from: 4, to: 20 })).toEqual({ from: 10, to: 20 });
	expect(inbox.gap({ from: 4, to: 20 })).toBeUndefined();
	expect(inbox.output(20, new Uint8Array(1))).toEqual({ offset: 20, bytes: new Uint8Array(1) });
});

test("a jump without a gap is an error", () => {
	const inbox = new ResumePosition(3);
	inbox.resume(3, 3, false);
	expect(() => inbox.output(4, new Uint8Array(1))).toThrow("expected 3");
	expect(() => inbox.gap({ from: 5, to: 6 })).toThrow("expected 3");
	expect(() => inbox.event(4)).toThrow("expected 3");
});

test("only the first connection may start before the requested offset", () => {
	const inbox = new ResumePosition(100);
	inbox.resume(100, 7, false);
	expect(inbox.output(7, new Uint8Array(1))).toMatchObject({ offset: 7 });
	expect(() => inbox.resume(8, 6, false)).toThrow("was read up to 8");
});
