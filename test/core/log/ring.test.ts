import fc from "fast-check";
import { expect, test } from "vitest";
import { byteLength, type Event, type LogPosition } from "../../../src/core/log/event.ts";
import { EventRing } from "../../../src/core/log/event-ring.ts";
import { reachable } from "../../support/garbage.ts";

function after(end: LogPosition, bytes: number): Event {
	if (bytes === 0) return { ...end, time: 0, kind: "resized", size: { cols: 1, rows: 1 } };
	return { ...end, time: 0, kind: "output", stream: "pty", bytes: new Uint8Array(bytes) };
}

/** The same in the simplest way. */
class Model {
	events: Event[] = [];
	end: LogPosition;

	constructor(end: LogPosition) {
		this.end = end;
	}

	get oldest(): LogPosition {
		return this.events[0] ?? this.end;
	}

	peek(seq: number, maxBytes: number): readonly Event[] {
		const taken: Event[] = [];
		let bytes = 0;
		for (const event of this.events.filter((one) => one.seq >= seq)) {
			if (taken.length > 0 && bytes >= maxBytes) break;
			taken.push(event);
			bytes += byteLength(event);
		}
		return taken;
	}

	seqAt(offset: number): number {
		const holds = (event: Event) =>
			event.kind === "output" ? event.offset + byteLength(event) > offset : event.offset >= offset;
		return (this.events.find(holds) ?? this.end).seq;
	}
}

const step = fc.oneof(
	{ weight: 30, arbitrary: fc.record({ do: fc.constant("push" as const), bytes: fc.nat(9) }) },
	{ weight: 20, arbitrary: fc.constant({ do: "drop" as const }) },
	{ weight: 15, arbitrary: fc.record({ do: fc.constant("peek" as const), seq: fc.nat(150), bytes: fc.nat(40) }) },
	{ weight: 15, arbitrary: fc.record({ do: fc.constant("seqAt" as const), offset: fc.nat(500) }) },
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("reset" as const), seq: fc.nat(90), offset: fc.nat(200) }) },
);

test("a ring is a list of consecutive events, wherever it starts and however often it wraps", () => {
	fc.assert(
		fc.property(fc.nat(50), fc.array(step, { maxLength: 300, size: "max" }), (seq, steps) => {
			const begin = { seq, offset: seq * 3 };
			const ring = new EventRing(begin);
			let model = new Model(begin);
			for (const step of steps) {
				if (step.do === "push") {
					const event = after(model.end, step.bytes);
					ring.push(event);
					model.events.push(event);
					model.end = { seq: event.seq + 1, offset: event.offset + step.bytes };
				} else if (step.do === "drop" && model.events.length > 0) {
					ring.dropOldest();
					model.events.shift();
				} else if (step.do === "peek") {
					expect(ring.peek(step.seq, step.bytes)).toEqual(model.peek(step.seq, step.bytes));
				} else if (step.do === "seqAt") {
					expect(ring.seqAt(step.offset)).toBe(model.seqAt(step.offset));
				} else if (step.do === "reset") {
					ring.reset({ seq: step.seq, offset: step.offset });
					model = new Model({ seq: step.seq, offset: step.offset });
				}
				expect(ring.oldest).toEqual(model.oldest);
				expect(ring.end).toEqual(model.end);
				expect(ring.count).toBe(model.events.length);
				expect(ring.bytes).toBe(model.events.reduce((sum, event) => sum + byteLength(event), 0));
			}
		}),
	);
});

test("a ring refuses an event that does not follow the previous one", () => {
	const ring = new EventRing({ seq: 5, offset: 10 });
	expect(() => ring.push(after({ seq: 6, offset: 10 }, 1))).toThrow("invariant");
});

test("a ring releases an event as soon as it is dropped, and all of them when it is reset", async () => {
	const ring = new EventRing();
	// In a separate function, so that no local variable holds the event.
	const push = () => {
		const event = after(ring.end, 1);
		ring.push(event);
		return new WeakRef(event);
	};
	const held = Array.from({ length: 40 }, push);
	for (let i = 0; i < 30; i++) ring.dropOldest();
	expect(await reachable(held)).toBe(10);
	ring.reset({ seq: 1, offset: 0 });
	expect(await reachable(held)).toBe(0);
});
