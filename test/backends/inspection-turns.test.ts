/** The order of inspections. */

import { expect, test } from "vitest";
import { InspectionTurns } from "../../src/backends/inspection-turns.ts";

/** An inspection that ends on request. */
function inspection(program: InspectionTurns) {
	let hasBegun = false;
	let end = () => {};
	const ended = new Promise<void>((resolve) => {
		end = resolve;
	});
	const done = program.run(() => {
		hasBegun = true;
		return ended;
	});
	return { done, end, hasBegun: () => hasBegun };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("a program whose inspections never end takes one slot, and others are inspected", async () => {
	const hostile = new InspectionTurns();
	const stuck = Array.from({ length: 10 }, () => inspection(hostile));
	const others = Array.from({ length: 4 }, () => inspection(new InspectionTurns()));
	await settled();
	expect(stuck.filter(({ hasBegun }) => hasBegun())).toHaveLength(1);
	expect(others.map(({ hasBegun }) => hasBegun())).toEqual([true, true, true, false]);
	others[0]?.end();
	await others[0]?.done;
	await settled();
	expect(others[3]?.hasBegun()).toBe(true);
	expect(stuck.filter(({ hasBegun }) => hasBegun())).toHaveLength(1);
	// The program's next inspection starts when the previous one has ended.
	for (const [index, { end, done }] of stuck.entries()) {
		end();
		await done;
		await settled();
		expect(stuck.filter(({ hasBegun }) => hasBegun())).toHaveLength(Math.min(stuck.length, index + 2));
	}
	for (const { end } of others) end();
	await Promise.all(others.map(({ done }) => done));
});

test("a failed inspection releases its slot", async () => {
	const program = new InspectionTurns();
	await expect(program.run(() => Promise.reject(new Error("no descriptor")))).rejects.toThrow("no descriptor");
	expect(await program.run(async () => "seen")).toBe("seen");
});

test("a program's inspections above the limit are refused, other programs are not affected", async () => {
	const hostile = new InspectionTurns();
	const stuck = Array.from({ length: 1_001 }, () => inspection(hostile));
	await expect(hostile.run(async () => "seen")).rejects.toThrow(
		"too many inspections of this program are waiting (limit 1000)",
	);
	expect(await new InspectionTurns().run(async () => "seen")).toBe("seen");
	for (const { end } of stuck) end();
	await Promise.all(stuck.map(({ done }) => done));
	expect(await hostile.run(async () => "seen")).toBe("seen");
});
