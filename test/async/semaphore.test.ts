import { describe, expect, it } from "vitest";
import { Semaphore } from "../../src/async/semaphore.ts";

/** A task that notes when it begins, and ends on `end`. */
function task(begun: number[], number: number) {
	let end = () => {};
	const ended = new Promise<void>((resolve) => {
		end = resolve;
	});
	const run = async () => {
		begun.push(number);
		await ended;
		return number;
	};
	return { run, end };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("Semaphore", () => {
	it("runs as many tasks at a time as it has slots, and the others in the order in which they came", async () => {
		const semaphore = new Semaphore(2);
		const begun: number[] = [];
		const tasks = [0, 1, 2, 3].map((number) => task(begun, number));
		const results = tasks.map(({ run }) => semaphore.run(run));
		expect(begun).toEqual([0, 1]);
		tasks[1]?.end();
		await settled();
		expect(begun).toEqual([0, 1, 2]);
		tasks[0]?.end();
		await settled();
		expect(begun).toEqual([0, 1, 2, 3]);
		for (const { end } of tasks) end();
		expect(await Promise.all(results)).toEqual([0, 1, 2, 3]);
	});

	it("frees the slot of a task that fails or throws", async () => {
		const semaphore = new Semaphore(1);
		const failed = semaphore.run(() => Promise.reject(new Error("failed")));
		const thrown = semaphore.run(() => {
			throw new Error("thrown at once");
		});
		const next = semaphore.run(async () => "next");
		await expect(failed).rejects.toThrow("failed");
		await expect(thrown).rejects.toThrow("thrown at once");
		expect(await next).toBe("next");
	});

	it("refuses a task when too many wait, and takes one again when fewer do", async () => {
		const refuse = () => new Error("too many tasks are waiting (limit 1)");
		const semaphore = new Semaphore(1, { waiting: 1, refuse });
		const begun: number[] = [];
		const running = task(begun, 0);
		const waiting = task(begun, 1);
		const refused = task(begun, 2);
		const results = [semaphore.run(running.run), semaphore.run(waiting.run)];
		await expect(semaphore.run(refused.run)).rejects.toThrow("too many tasks are waiting (limit 1)");
		running.end();
		await settled();
		const later = semaphore.run(async () => "later");
		waiting.end();
		expect(await Promise.all(results)).toEqual([0, 1]);
		expect(await later).toBe("later");
		expect(begun).toEqual([0, 1]);
	});
});
