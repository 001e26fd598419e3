import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { Log } from "../../../src/core/log/log.ts";
import { trimMemoryAfterFloods } from "../../../src/keeper/process/trim-memory.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("memory is released once after each flood, and never after little output", async () => {
	const clock = new FakeClock();
	const log = new Log({ clock });
	let trims = 0;
	const tidying = trimMemoryAfterFloods(log, clock, () => trims++);
	const print = async (bytes: number) => {
		log.append({ kind: "output", stream: "pty", bytes: new Uint8Array(bytes) });
		await turn();
	};
	const pass = async (ms: number) => {
		clock.advance(ms);
		await turn();
	};
	expect(clock.pending).toBe(0);
	await print(1000);
	await pass(10_000);
	expect([trims, clock.pending]).toEqual([0, 0]);

	for (let second = 0; second < 60; second++) {
		await print(1_000_000);
		await pass(1_000);
	}
	expect(trims).toBe(0);
	await pass(10_000);
	await pass(10_000);
	expect([trims, clock.pending]).toEqual([1, 0]);
	await print(5_000_000);
	await pass(10_000);
	expect(trims).toBe(2);

	log.append({ kind: "exited", exit: { code: 0, signal: null } });
	log.append({ kind: "closed" });
	await turn();
	await pass(10_000);
	await tidying;
	expect([trims, clock.pending]).toEqual([2, 0]);
});
