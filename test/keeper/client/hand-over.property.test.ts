/** A reader whose log continues elsewhere, as after its keeper's death, gets every byte or a gap that names it. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { follow } from "../../../src/core/log/cursor.ts";
import {
	byteLength,
	type Fact,
	type Item,
	LOG_START,
	type LogPosition,
	type Start,
} from "../../../src/core/log/event.ts";
import { Log } from "../../../src/core/log/log.ts";
import { LinkLost } from "../../../src/keeper/client/keeper-link.ts";
import { type Readers, SessionCursor } from "../../../src/keeper/client/session-cursor.ts";
import { SharedMirror } from "../../../src/keeper/client/shared-tail.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { MemoryArchive } from "../../support/memory-archive.ts";

type Case = {
	/** Bytes of each output; 0 stands for a resize. */
	readonly facts: readonly number[];
	/** Events in the archive, read by this reader and by others, as fractions of all events. */
	readonly archived: number;
	readonly read: number;
	readonly seen: number;
	readonly start: number;
	readonly isByOffset: boolean;
};

const share = fc.nat(20).map((twentieths) => twentieths / 20);
const cases: fc.Arbitrary<Case> = fc.record({
	facts: fc.array(fc.nat(9), { minLength: 1, maxLength: 30 }),
	archived: share,
	read: share,
	seen: share,
	start: share,
	isByOffset: fc.boolean(),
});

const turn = () => new Promise<undefined>((resolve) => setImmediate(() => setImmediate(() => resolve(undefined))));

async function handOver({ facts, archived, read, seen, start, isByOffset }: Case): Promise<void> {
	const clock = new FakeClock();
	const archive = new MemoryArchive(Number.POSITIVE_INFINITY);
	const first = new Log({ clock, archive });
	const marks: LogPosition[] = [];
	for (const bytes of facts) {
		const fact: Fact =
			bytes === 0
				? { kind: "resized", size: { cols: 80, rows: 24 } }
				: { kind: "output", stream: "pty", bytes: new Uint8Array(bytes).map((_, i) => first.end.offset + i) };
		marks.push({ ...first.end });
		first.append(fact);
		if (marks.length <= archived * facts.length) archive.take(Number.POSITIVE_INFINITY);
	}
	marks.push(first.end);

	const from = marks[Math.floor(start * facts.length)] ?? LOG_START;
	const begin = isByOffset ? { offset: from.offset } : from;
	const items: Item[] = [];
	const most = Math.floor(read * facts.length);
	let end = first.end;
	const rest = {
		follow: (place: Start) => {
			// The known end: the last event that any reader saw, or the archive's.
			const last = items.at(-1);
			const own = last === undefined ? from.seq : last.kind === "gap" ? last.nextSeq : last.seq + 1;
			const known = Math.max(own, archive.end.seq, Math.floor(seen * facts.length) + 1);
			end = marks[known - 1] ?? first.end;
			const second = new Log({ clock, archive, restored: { end, isFinished: false } });
			second.append({ kind: "lost", message: "its keeper is gone" });
			return follow(second, place);
		},
	};
	const beginning = {
		follow: async function* (place: Start): AsyncGenerator<Item, void, void> {
			const reader = follow(first, place);
			for (let count = 0; count < most; count++) {
				// The log is not finished, so nothing follows its last event.
				const next = await Promise.race([reader.next(), turn()]);
				if (!next || next.done) break;
				yield next.value;
			}
			await reader.return();
			homes.shift();
			throw new LinkLost();
		},
	};
	const homes = [beginning, rest];
	const readers: Readers = {
		located: async () => homes[0],
		tail: new SharedMirror(),
		pause: async () => {},
		onDelivered: undefined,
		seen: undefined,
		attached: 0,
	};
	for await (const item of new SessionCursor(readers, begin, undefined, {}).items()) items.push(item);
	expect(homes).toEqual([rest]);
	expect(readers.attached).toBe(0);

	let offset = from.offset;
	for (const item of items) {
		if (item.kind === "gap") {
			expect(item.from).toBe(offset);
			expect(item.to).toBeGreaterThanOrEqual(item.from);
			offset = item.to;
			continue;
		}
		expect(item.offset).toBe(offset);
		if (item.kind === "output") expect([...item.bytes]).toEqual([...item.bytes.keys()].map((i) => (offset + i) % 256));
		offset += byteLength(item);
	}
	expect(offset).toBe(end.offset);
	expect(items.at(-1)).toMatchObject({ kind: "lost", offset: end.offset });
}

test("a reader that continues in the rest of its log misses no byte without a gap, from any position", async () => {
	await fc.assert(fc.asyncProperty(cases, handOver), { numRuns: 1_000 });
});
