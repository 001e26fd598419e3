import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type Inspected, Inspector } from "../../../src/core/inspect/inspector.ts";
import type { ProcessSnapshot } from "../../../src/core/process/process-snapshot.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const asleep: ProcessSnapshot = {
	...{ hasTerminal: true, isInner: false, isSplit: false, canonical: true, echo: true, unread: 0 },
	...{ runs: false, reads: false, writes: false, listens: false, isOnDisk: false, isStopped: false, isDenied: false },
	...{ pid: 7, image: "100.7f", program: "prog", cwd: "/", call: "sleep", depth: null, argv: [], processes: 1 },
};
const reading: ProcessSnapshot = { ...asleep, reads: true };

/** A program controlled by the test, and the times of its inspections. */
class Program implements Inspected {
	readonly clock = new FakeClock();
	readonly looks: number[] = [];
	readonly #begin = this.clock.monotonic();
	readonly inspector = new Inspector(this, this.clock);
	snapshot: ProcessSnapshot | Promise<ProcessSnapshot> = asleep;
	lastByte = this.#begin;
	line = 0;
	ended = false;

	async look(): Promise<ProcessSnapshot> {
		this.looks.push(this.clock.monotonic() - this.#begin);
		return this.snapshot;
	}
	context() {
		const quietMs = this.clock.monotonic() - this.lastByte;
		return {
			own: undefined,
			hasQueuedInput: false,
			isPaused: false,
			isFullScreen: false,
			prompt: null,
			isAsking: false,
			quietMs,
		};
	}
	lastActivity = () => this.lastByte;
	turns = () => this.line;
	isEnded = () => this.ended;
	place = () => ({ offset: 0, since: 0 });

	byte(): void {
		this.lastByte = this.clock.monotonic();
		this.inspector.noteActivity();
	}

	async pass(ms: number, step = 10): Promise<void> {
		for (let left = ms; left > 0; left -= step) {
			await nextTurn();
			this.clock.advance(Math.min(step, left));
			await nextTurn();
		}
	}
}

describe("subscribers to waiting", () => {
	test("a subscriber causes an inspection soon after the last byte, then every five seconds", async () => {
		const program = new Program();
		const end = new AbortController();
		const waiting = program.inspector.untilWaiting(0, end.signal);
		await program.pass(20_000);
		expect(program.looks).toEqual([0, 20, 60, 200, 1_000, 5_000, 10_000, 15_000, 20_000]);
		program.byte();
		await program.pass(100);
		expect(program.looks.slice(9)).toEqual([20_020, 20_060]);
		end.abort();
		await waiting;
		await program.pass(30_000);
		expect(program.clock.pending).toBe(0);
	});

	test("a subscriber gets a wait 20 ms after it began, confirmed after another 2 ms", async () => {
		const program = new Program();
		const waiting = program.inspector.untilWaiting(0);
		await program.pass(10_000);
		program.snapshot = reading;
		program.byte();
		await program.pass(30, 1);
		expect(await waiting).toMatchObject({ state: "waiting", kind: "line", episode: 1 });
		expect(program.looks.slice(-2)).toEqual([10_020, 10_022]);
	});

	test("a subscriber costs nothing while the program waits and no byte is read or written", async () => {
		const program = new Program();
		program.snapshot = reading;
		const first = program.inspector.untilWaiting(0);
		await program.pass(10);
		expect((await first).episode).toBe(1);
		const second = program.inspector.untilWaiting(1);
		await program.pass(60_000);
		expect(program.looks.filter((time) => time > 1_000)).toEqual([]);
		// Typing into the answer is the same wait. Another follows when the answer ends.
		program.byte();
		await program.pass(2_000);
		program.line++;
		program.byte();
		await program.pass(100);
		expect((await second).episode).toBe(2);
	});

	test("a subscriber gets another wait for another program in the same process, or with the same process id", async () => {
		const program = new Program();
		program.snapshot = reading;
		const looked = async () => {
			const found = program.inspector.inspect();
			await program.pass(10);
			return (await found).episode;
		};
		expect(await looked()).toBe(1);
		expect(await looked()).toBe(1);
		program.snapshot = { ...reading, image: "100.7e" };
		expect(await looked()).toBe(2);
	});

	test("a subscriber gets no new wait when a line is typed during the inspection", async () => {
		const program = new Program();
		program.snapshot = reading;
		const first = program.inspector.inspect();
		await program.pass(10);
		expect((await first).episode).toBe(1);
		program.byte();
		const second = program.inspector.inspect();
		await nextTurn();
		// The confirming inspection saw the program before the line arrived.
		let see = (_sight: ProcessSnapshot) => {};
		program.snapshot = new Promise<ProcessSnapshot>((resolve) => {
			see = resolve;
		});
		await program.pass(2);
		expect(program.looks).toHaveLength(4);
		program.line++;
		see(reading);
		expect((await second).episode).toBe(1);
		program.snapshot = reading;
		const third = program.inspector.inspect();
		await program.pass(10);
		expect((await third).episode).toBe(2);
	});

	test("a subscriber gets no repeated wait after an older, slower inspection that missed it", async () => {
		const program = new Program();
		let see = (_sight: ProcessSnapshot) => {};
		program.snapshot = new Promise<ProcessSnapshot>((resolve) => {
			see = resolve;
		});
		const slow = program.inspector.inspect();
		await nextTurn();
		program.snapshot = reading;
		program.line++;
		const quick = program.inspector.inspect();
		await program.pass(10);
		expect((await quick).episode).toBe(1);
		see({ ...asleep, runs: true });
		await program.pass(10);
		expect(await slow).toMatchObject({ state: "waiting", episode: 1 });
		const next = program.inspector.inspect();
		await program.pass(10);
		expect((await next).episode).toBe(1);
	});

	test("a subscriber does not cause an inspection at each byte of a program that writes constantly", async () => {
		const program = new Program();
		const end = new AbortController();
		const waiting = program.inspector.untilWaiting(0, end.signal);
		for (let i = 0; i < 200; i++) {
			program.byte();
			await program.pass(50);
		}
		// In ten seconds.
		expect(program.looks.length).toBeLessThan(110);
		const before = program.looks.length;
		for (let i = 0; i < 1_000; i++) {
			program.byte();
			await program.pass(10);
		}
		expect(program.looks.length - before).toBeLessThan(3);
		end.abort();
		await waiting;
	});

	test("a subscriber gets the end of the session", async () => {
		const program = new Program();
		const waiting = program.inspector.untilWaiting(0);
		await program.pass(10_000);
		program.ended = true;
		program.inspector.noteActivity();
		await program.pass(10);
		expect(await waiting).toMatchObject({ state: "ended" });
	});
});

test("an inspection that hangs is abandoned", async () => {
	const program = new Program();
	program.snapshot = new Promise<never>(() => {});
	const found = program.inspector.inspect();
	await program.pass(1_010);
	expect(await found).toMatchObject({ state: "unknown", kind: "slow" });
});

test("a wait that could not be inspected for a moment stays the same wait", async () => {
	const program = new Program();
	program.snapshot = reading;
	const before = program.inspector.inspect();
	await program.pass(10);
	program.snapshot = new Promise<never>(() => {});
	const unseen = program.inspector.inspect();
	await program.pass(1_010);
	await unseen;
	program.snapshot = reading;
	const after = program.inspector.inspect();
	await program.pass(10);
	expect((await after).episode).toBe((await before).episode);
});
