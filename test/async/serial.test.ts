import { describe, expect, it } from "vitest";
import { Serial } from "../../src/async/serial.ts";

describe("Serial", () => {
	it("runs tasks one at a time, in the order in which they were submitted", async () => {
		const serial = new Serial();
		const steps: string[] = [];
		const task = (name: string, turns: number) => async () => {
			steps.push(`${name} begins`);
			for (let turn = 0; turn < turns; turn++) await Promise.resolve();
			steps.push(`${name} ends`);
			return name;
		};
		expect(await Promise.all([serial.run(task("slow", 20)), serial.run(task("quick", 0))])).toEqual(["slow", "quick"]);
		expect(steps).toEqual(["slow begins", "slow ends", "quick begins", "quick ends"]);
	});

	it("starts no task in the turn in which it was submitted", async () => {
		let hasBegun = false;
		const done = new Serial().run(async () => {
			hasBegun = true;
		});
		expect(hasBegun).toBe(false);
		await done;
		expect(hasBegun).toBe(true);
	});

	it("gives a task's error to its caller only, and runs the next one", async () => {
		const serial = new Serial();
		const failed = serial.run(() => Promise.reject(new Error("no space left")));
		const thrown = serial.run(() => {
			throw new Error("thrown at once");
		});
		const next = serial.run(async () => "next");
		await expect(failed).rejects.toThrow("no space left");
		await expect(thrown).rejects.toThrow("thrown at once");
		expect(await next).toBe("next");
	});

	it("is idle once every task so far has settled, whether it failed or not", async () => {
		const serial = new Serial();
		await serial.idle();
		let fail = (_: Error) => {};
		const failing = serial.run(
			() =>
				new Promise<void>((_, reject) => {
					fail = reject;
				}),
		);
		let isIdle = false;
		const idle = serial.idle().then(() => {
			isIdle = true;
		});
		for (let turn = 0; turn < 10; turn++) await Promise.resolve();
		expect(isIdle).toBe(false);
		fail(new Error("failed"));
		await expect(failing).rejects.toThrow("failed");
		await idle;
	});
});
