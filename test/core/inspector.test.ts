import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { NO_STAGE, type Sight } from "../../src/core/inspection.ts";
import { type Inspected, Inspector } from "../../src/core/inspector.ts";
import { FakeClock } from "../helpers/fake-clock.ts";

const asleep: Sight = {
	...{ hasTerminal: true, isInner: false, isSplit: false, canonical: true, echo: true, unread: 0 },
	...{ runs: false, reads: false, writes: false, listens: false, isOnDisk: false, isStopped: false, isDenied: false },
	...{ pid: 7, image: "100.7f", program: "prog", cwd: "/", call: "sleep", processes: 1 },
};
const reading: Sight = { ...asleep, reads: true };

/** A program that does what a test says, and when it was looked at. */
class Program implements Inspected {
	readonly clock = new FakeClock();
	readonly looks: number[] = [];
	readonly #begin = this.clock.monotonic();
	readonly inspector = new Inspector(this, this.clock);
	sight: Sight | Promise<Sight> = asleep;
	lastByte = this.#begin;
	line = 0;
	ended = false;

	async look(): Promise<Sight> {
		this.looks.push(this.clock.monotonic() - this.#begin);
		return this.sight;
	}
	surroundings() {
		const quietMs = this.clock.monotonic() - this.lastByte;
		return { own: undefined, hasQueuedInput: false, isPaused: false, ...NO_STAGE, quietMs };
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

describe("who wants to hear of a wait", () => {
	test("makes it look soon after the last byte, then every five seconds", async () => {
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

	test("is told 20 ms after a program began to wait, once it still does after 2 ms", async () => {
		const program = new Program();
		const waiting = program.inspector.untilWaiting(0);
		await program.pass(10_000);
		program.sight = reading;
		program.byte();
		await program.pass(30, 1);
		expect(await waiting).toMatchObject({ state: "waiting", kind: "line", episode: 1 });
		expect(program.looks.slice(-2)).toEqual([10_020, 10_022]);
	});

	test("costs nothing while it waits and no byte comes or goes", async () => {
		const program = new Program();
		program.sight = reading;
		const first = program.inspector.untilWaiting(0);
		await program.pass(10);
		expect((await first).episode).toBe(1);
		const second = program.inspector.untilWaiting(1);
		await program.pass(60_000);
		expect(program.looks.filter((time) => time > 1_000)).toEqual([]);
		// What is typed into the answer is the same wait; another follows when it is ended.
		program.byte();
		await program.pass(2_000);
		program.line++;
		program.byte();
		await program.pass(100);
		expect((await second).episode).toBe(2);
	});

	test("is told of another program that waits in the same process, or under the same number", async () => {
		const program = new Program();
		program.sight = reading;
		const looked = async () => {
			const found = program.inspector.inspect();
			await program.pass(10);
			return (await found).episode;
		};
		expect(await looked()).toBe(1);
		expect(await looked()).toBe(1);
		program.sight = { ...reading, image: "100.7e" };
		expect(await looked()).toBe(2);
	});

	test("is not told of another wait when a line is typed while it is looked at", async () => {
		const program = new Program();
		program.sight = reading;
		const first = program.inspector.inspect();
		await program.pass(10);
		expect((await first).episode).toBe(1);
		program.byte();
		const second = program.inspector.inspect();
		await nextTurn();
		// The look that confirms it has seen the program before the line came.
		let see = (_sight: Sight) => {};
		program.sight = new Promise<Sight>((resolve) => {
			see = resolve;
		});
		await program.pass(2);
		expect(program.looks).toHaveLength(4);
		program.line++;
		see(reading);
		expect((await second).episode).toBe(1);
		program.sight = reading;
		const third = program.inspector.inspect();
		await program.pass(10);
		expect((await third).episode).toBe(2);
	});

	test("is not told again of a wait that an older look, which took longer, has not seen", async () => {
		const program = new Program();
		let see = (_sight: Sight) => {};
		program.sight = new Promise<Sight>((resolve) => {
			see = resolve;
		});
		const slow = program.inspector.inspect();
		await nextTurn();
		program.sight = reading;
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

	test("does not make it look at each byte of one that writes all the time", async () => {
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

	test("is told of the end", async () => {
		const program = new Program();
		const waiting = program.inspector.untilWaiting(0);
		await program.pass(10_000);
		program.ended = true;
		program.inspector.noteActivity();
		await program.pass(10);
		expect(await waiting).toMatchObject({ state: "ended" });
	});
});

test("a look that does not end is not waited for", async () => {
	const program = new Program();
	program.sight = new Promise<never>(() => {});
	const found = program.inspector.inspect();
	await program.pass(1_010);
	expect(await found).toMatchObject({ state: "unknown", kind: "slow" });
});

test("a wait that could not be seen for a moment is the same as before", async () => {
	const program = new Program();
	program.sight = reading;
	const before = program.inspector.inspect();
	await program.pass(10);
	program.sight = new Promise<never>(() => {});
	const unseen = program.inspector.inspect();
	await program.pass(1_010);
	await unseen;
	program.sight = reading;
	const after = program.inspector.inspect();
	await program.pass(10);
	expect((await after).episode).toBe((await before).episode);
});
