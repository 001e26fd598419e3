/** With any retries, overlaps and reordering, each byte and each action is applied once and in order. */

import fc from "fast-check";
import { expect, test } from "vitest";
import type { Action, Receipt } from "../../../src/core/input/action.ts";
import { INPUT_WINDOW_BYTES, InputQueue } from "../../../src/core/input/input-queue.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const TOTAL = 400;

/** The content of stream `name`: bytes that encode stream and position, with an occasional resize. */
function isAct(position: number): boolean {
	return position % 50 === 49;
}

function queueFor(perform: (act: Action) => Promise<void> | void): InputQueue {
	return new InputQueue({ perform, clock: new FakeClock() });
}

/** The first matching receipt, or the last one. */
async function receiptWhen(queue: InputQueue, stream: string, isWanted: (receipt: Receipt) => boolean) {
	let last: Receipt | undefined;
	for await (const receipt of queue.receipts(stream)) {
		last = receipt;
		if (isWanted(receipt)) break;
	}
	return last;
}

type Send = { stream: number; from: number; length: number; drain: boolean };

const sends = fc.array(
	fc.record({
		stream: fc.nat(2),
		from: fc.nat(TOTAL),
		length: fc.integer({ min: 1, max: 90 }),
		drain: fc.boolean(),
	}),
	{ minLength: 20, maxLength: 200, size: "max" },
);

class Program {
	readonly done: string[] = [];
	#release: (() => void) | undefined;

	perform(act: Action): Promise<void> | void {
		if (act.kind === "resize") {
			this.done.push(`${act.size.rows}:${act.size.cols}`);
			return;
		}
		if (act.kind !== "write") throw new Error("not sent here");
		for (const byte of act.bytes) this.done.push(`${byte >> 6}:${byte & 63}`);
		return new Promise((resolve) => {
			this.#release = resolve;
		});
	}

	/** Lets the kernel take the pending bytes. */
	async drain(): Promise<void> {
		for (;;) {
			const release = this.#release;
			if (!release) return;
			this.#release = undefined;
			release();
			await new Promise<void>((resolve) => setImmediate(resolve));
		}
	}
}

/** The actions of a stream between two positions, as split by a client that lost its connection. */
function* cut({ stream, from, length }: Send): Generator<{ position: number; act: Action }> {
	let position = from;
	const end = Math.min(TOTAL, from + length);
	while (position < end) {
		if (isAct(position)) {
			yield { position, act: { kind: "resize", size: { rows: stream, cols: position } } };
			position++;
			continue;
		}
		let to = position;
		while (to < end && !isAct(to)) to++;
		const bytes = Uint8Array.from({ length: to - position }, (_, i) => (stream << 6) | ((position + i) % 64));
		yield { position, act: { kind: "write", bytes } };
		position = to;
	}
}

test("the ledger accepts each unit once, in order, and names the expected position for a gap", async () => {
	await fc.assert(
		fc.asyncProperty(sends, async (plan) => {
			const program = new Program();
			const queue = queueFor((act) => program.perform(act));
			const next = [0, 0, 0];
			for (const send of plan) {
				for (const { position, act } of cut(send)) {
					const origin = { stream: `s${send.stream}`, position };
					const wanted = next[send.stream] as number;
					if (position > wanted) {
						const refusal = wanted === 0 ? "is unknown" : `continues at position ${wanted}`;
						expect(() => queue.accept(act, origin)).toThrow(refusal);
						break;
					}
					const receipt = queue.accept(act, origin);
					const length = act.kind === "write" ? act.bytes.length : 1;
					expect(receipt.next).toBe(Math.max(wanted, position + length));
					expect(receipt.written).toBeLessThanOrEqual(receipt.next);
					next[send.stream] = receipt.next;
				}
				if (send.drain) await program.drain();
			}
			await program.drain();
			for (const stream of [0, 1, 2]) {
				const done = program.done.filter((unit) => unit.startsWith(`${stream}:`));
				const want = Array.from({ length: next[stream] as number }, (_, position) =>
					isAct(position) ? `${stream}:${position}` : `${stream}:${position % 64}`,
				);
				expect(done).toEqual(want);
				const all = next[stream] as number;
				expect(queue.receipt(`s${stream}`)).toMatchObject({ next: all, written: all });
			}
		}),
		{ numRuns: 300 },
	);
});

test("a program that does not read stops the sender at the window and uses no more memory", async () => {
	const queue = queueFor(() => new Promise(() => {}));
	const bytes = new Uint8Array(64 * 1024);
	let next = 0;
	for (let i = 0; i < 100; i++) {
		next = queue.accept({ kind: "write", bytes }, { stream: "a", position: next }).next;
	}
	expect(next).toBe(INPUT_WINDOW_BYTES);
	for (let i = 0; i < 100; i++) {
		queue.accept({ kind: "write", bytes: new Uint8Array(INPUT_WINDOW_BYTES) }, { stream: `b${i}`, position: 0 });
	}
	expect(queue.accept({ kind: "write", bytes }, { stream: "c", position: 0 }).next).toBe(0);
});

test("an urgent signal overtakes blocked input, and its unit still counts in order", async () => {
	const done: string[] = [];
	let release = () => {};
	const queue = queueFor((act) => {
		done.push(act.kind);
		if (act.kind !== "write") return;
		return new Promise((resolve) => {
			release = resolve;
		});
	});
	queue.accept({ kind: "write", bytes: Buffer.from("stuck") }, { stream: "a", position: 0 });
	queue.accept({ kind: "eof" }, { stream: "a", position: 5 });
	const receipt = queue.accept({ kind: "signal", signal: "SIGINT", urgent: true }, { stream: "a", position: 6 });
	expect(done).toEqual(["write", "signal"]);
	expect(receipt).toMatchObject({ next: 7, written: 0 });
	release();
	expect(await receiptWhen(queue, "a", ({ written }) => written === 7)).toMatchObject({ next: 7 });
	expect(done).toEqual(["write", "signal", "eof"]);
});

test("the program's exit ends all receipts with the last one, and refuses more", async () => {
	const queue = queueFor(() => new Promise(() => {}));
	queue.accept({ kind: "write", bytes: Buffer.from("x") }, { stream: "a", position: 0 });
	const receipt = receiptWhen(queue, "a", () => false);
	queue.close();
	expect(await receipt).toMatchObject({ next: 1, written: 0 });
	expect(() => queue.accept({ kind: "eof" })).toThrow("no more input");
});
