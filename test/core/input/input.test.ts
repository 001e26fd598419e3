import { describe, expect, it } from "vitest";
import { SessionError } from "../../../src/core/errors.ts";
import type { Action, Receipt } from "../../../src/core/input/action.ts";
import { INPUT_WINDOW_BYTES, InputQueue, type InputQueueOptions } from "../../../src/core/input/input-queue.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const HOUR_MS = 3_600_000;

function queueWith(options: Partial<InputQueueOptions> = {}): InputQueue {
	return new InputQueue({ perform: () => {}, clock: new FakeClock(), ...options });
}

function bytes(length: number): Action {
	return { kind: "write", bytes: new Uint8Array(length) };
}

/** A program that reads on demand. */
class Reading {
	#given: (() => void)[] = [];

	readonly perform = (): Promise<void> => new Promise((resolve) => this.#given.push(resolve));

	async read(): Promise<void> {
		this.#given.shift()?.();
		await settle();
	}
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("an input queue", () => {
	it("an input queue continues after a forbidden signal, and ends when the process accepts no more", async () => {
		const done: Action[] = [];
		const failures: unknown[] = [];
		const queue = queueWith({
			perform: (act) => {
				if (act.kind === "signal") throw new SessionError("permission_denied", "another user's");
				if (act.kind === "eof") throw new SessionError("session_closed", "gone");
				done.push(act);
			},
			onFailure: (error) => failures.push(error),
		});
		const write: Action = { kind: "write", bytes: new Uint8Array([1, 2]) };
		queue.accept({ kind: "signal", signal: "SIGINT" }, { stream: "s", position: 0 });
		expect(queue.accept(write, { stream: "s", position: 1 })).toMatchObject({ next: 3, written: 3 });
		expect(done).toEqual([write]);
		queue.accept({ kind: "eof" }, { stream: "s", position: 3 });
		expect(() => queue.accept(write, { stream: "s", position: 4 })).toThrow("no more input");
		expect(queue.receipt("s")).toEqual({ next: 4, written: 3, room: 0 });
		expect(failures).toEqual([]);
	});

	it("an input queue accepts at most the window of one action, and states how far that was", () => {
		const queue = queueWith({ perform: new Reading().perform });
		const receipt = queue.accept(bytes(16 * 1024 * 1024), { stream: "s", position: 0 });
		expect(receipt).toEqual({ next: INPUT_WINDOW_BYTES, written: 0, room: 0 });
		expect(queue.accept(bytes(16 * 1024 * 1024))).toMatchObject({ next: INPUT_WINDOW_BYTES });
	});
});

describe("an urgent signal", () => {
	const urgent: Action = { kind: "signal", signal: "SIGINT", urgent: true };

	it("an urgent signal counts against the queue limit, and is refused above it", () => {
		let signals = 0;
		const queue = queueWith({
			perform: (act) => (act.kind === "signal" ? void signals++ : new Promise(() => {})),
		});
		queue.accept(bytes(1));
		for (let i = 0; i < 10_000; i++) queue.accept(urgent);
		expect(() => queue.accept(urgent)).toThrow(expect.objectContaining({ code: "limit_exceeded" }));
		expect(signals).toBe(10_000);
	});

	it("an urgent signal that can't be sent is refused completely", () => {
		let isAllowed = false;
		const queue = queueWith({
			perform: () => {
				if (!isAllowed) throw new SessionError("permission_denied", "another user's");
			},
		});
		expect(() => queue.accept(urgent, { stream: "s", position: 0 })).toThrow("another user's");
		expect(queue.receipt("s")).toMatchObject({ next: 0, written: 0 });
		isAllowed = true;
		expect(queue.accept(urgent, { stream: "s", position: 0 })).toMatchObject({ next: 1, written: 1 });
	});

	it("an urgent signal that fails later ends the input like any other action, and is reported", async () => {
		const failures: unknown[] = [];
		const failure = new Error("broken");
		const queue = queueWith({
			perform: (act) => (act.kind === "signal" ? Promise.reject(failure) : new Promise(() => {})),
			onFailure: (error) => failures.push(error),
		});
		queue.accept(bytes(1));
		queue.accept(urgent);
		await settle();
		expect(failures).toEqual([failure]);
		expect(() => queue.accept(bytes(1))).toThrow("no more input");
	});
});

describe("receipts", () => {
	it("receipts start with the known state, report changes, several at once, and end with the input", async () => {
		const program = new Reading();
		const queue = queueWith({ perform: program.perform });
		queue.accept(bytes(3), { stream: "s", position: 0 });
		const receipts = queue.receipts("s");
		const room = INPUT_WINDOW_BYTES;
		expect((await receipts.next()).value).toEqual({ next: 3, written: 0, room: room - 3 });
		const next = receipts.next();
		queue.accept(bytes(2), { stream: "s", position: 3 });
		await program.read();
		expect((await next).value).toEqual({ next: 5, written: 3, room: room - 2 });
		queue.accept(bytes(2), { stream: "s", position: 5 });
		await program.read();
		await program.read();
		expect((await receipts.next()).value).toEqual({ next: 7, written: 7, room });
		const last = receipts.next();
		queue.close();
		expect(await last).toEqual({ done: true, value: undefined });
	});

	it("receipts report space that other streams free", async () => {
		const program = new Reading();
		const queue = queueWith({ perform: program.perform });
		for (let i = 0; i < 8; i++) queue.accept(bytes(INPUT_WINDOW_BYTES), { stream: `s${i}`, position: 0 });
		const seen: Receipt[] = [];
		const controller = new AbortController();
		const following = (async () => {
			for await (const receipt of queue.receipts("mine", controller.signal)) seen.push(receipt);
		})();
		await settle();
		expect(seen).toEqual([{ next: 0, written: 0, room: 0 }]);
		await program.read();
		expect(seen).toEqual([
			{ next: 0, written: 0, room: 0 },
			{ next: 0, written: 0, room: 16 * 1024 },
		]);
		controller.abort();
		await following;
	});
});

describe("an input stream", () => {
	it("an input stream continues and its repeats are recognized, whatever number of one-time streams came in between", () => {
		let done = 0;
		const queue = queueWith({ perform: () => void done++ });
		queue.accept(bytes(1), { stream: "resting", position: 0 });
		for (let i = 0; i < 10_000; i++) queue.accept(bytes(1), { stream: `once ${i}`, position: 0 });
		expect(queue.accept(bytes(1), { stream: "resting", position: 0 })).toMatchObject({ next: 1 });
		expect(queue.accept(bytes(1), { stream: "once 0", position: 0 })).toMatchObject({ next: 1 });
		expect(queue.accept(bytes(1), { stream: "resting", position: 1 })).toMatchObject({ next: 2 });
		expect(done).toBe(10_002);
	});

	it("a new input stream is refused when too many were used within the hour, and none is forgotten", () => {
		const clock = new FakeClock();
		const queue = queueWith({ clock });
		for (let i = 0; i < 16_384; i++) queue.accept(bytes(1), { stream: `${i}`, position: 0 });
		const refused = () => queue.accept(bytes(1), { stream: "one more", position: 0 });
		expect(refused).toThrow(expect.objectContaining({ code: "limit_exceeded" }));
		clock.jump(2 * HOUR_MS);
		clock.advance(HOUR_MS - 1);
		expect(refused).toThrow(expect.objectContaining({ code: "limit_exceeded" }));
		expect(queue.accept(bytes(1), { stream: "0", position: 1 })).toMatchObject({ next: 2 });
		clock.advance(1);
		expect(refused()).toMatchObject({ next: 1 });
		expect(queue.receipt("0")).toMatchObject({ next: 2 });
	});

	it("an input stream forgotten after an hour gets an error that says so", () => {
		const clock = new FakeClock();
		const queue = queueWith({ clock });
		queue.accept(bytes(5), { stream: "old", position: 0 });
		clock.advance(HOUR_MS);
		queue.accept(bytes(1), { stream: "new", position: 0 });
		expect(() => queue.accept(bytes(1), { stream: "old", position: 5 })).toThrow("was forgotten");
	});

	it("an input stream is not forgotten while its receipts have a reader or its input is queued", async () => {
		const clock = new FakeClock();
		const program = new Reading();
		const queue = queueWith({ clock, perform: program.perform });
		for (const stream of ["followed", "waiting"]) queue.accept(bytes(1), { stream, position: 0 });
		await program.read();
		const receipts = queue.receipts("followed");
		await receipts.next();
		clock.advance(10 * HOUR_MS);
		queue.accept(bytes(1), { stream: "new", position: 0 });
		for (const stream of ["followed", "waiting"]) {
			expect(queue.accept(bytes(1), { stream, position: 1 })).toMatchObject({ next: 2 });
		}
		await receipts.return();
		clock.advance(HOUR_MS - 1);
		queue.accept(bytes(1), { stream: "newer", position: 0 });
		expect(queue.receipt("followed")).toMatchObject({ next: 2 });
	});

	it("a closed input stream is forgotten at once", () => {
		const queue = queueWith();
		for (let i = 0; i < 20_000; i++) {
			queue.accept(bytes(1), { stream: `${i}`, position: 0 });
			queue.forget(`${i}`);
		}
		expect(queue.receipt("0")).toMatchObject({ next: 0 });
	});
});
