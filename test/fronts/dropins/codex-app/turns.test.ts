import { describe, expect, it } from "vitest";
import { KeyedSerial } from "../../../../src/fronts/dropins/codex-app/turns.ts";

/** A task that ends when the test ends it. */
function task(log: string[], name: string): { run: (pass: () => void) => Promise<string>; pass(): void; end(): void } {
	let pass = () => {};
	let end = () => {};
	const ended = new Promise<void>((resolve) => {
		end = resolve;
	});
	return {
		run: async (passOn) => {
			log.push(name);
			pass = passOn;
			await ended;
			return name;
		},
		pass: () => pass(),
		end: () => end(),
	};
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("turns", () => {
	it("tasks under one key run one after the other in order of request", async () => {
		const turns = new KeyedSerial();
		const log: string[] = [];
		const [a, b, c] = ["a", "b", "c"].map((name) => task(log, name));
		if (!a || !b || !c) throw new Error("three");
		const all = [a, b, c].map(({ run }) => turns.take("key", run));
		await turn();
		expect(log).toEqual(["a"]);
		a.pass();
		await turn();
		expect(log).toEqual(["a", "b"]);
		b.end();
		await turn();
		expect(log).toEqual(["a", "b", "c"]);
		a.end();
		c.end();
		expect(await Promise.all(all)).toEqual(["a", "b", "c"]);
	});

	it("tasks under different keys or none start synchronously", () => {
		const turns = new KeyedSerial();
		const log: string[] = [];
		for (const key of ["one", "two", undefined, undefined]) void turns.take(key, task(log, String(key)).run);
		expect(log).toEqual(["one", "two", "undefined", "undefined"]);
	});

	it("a task that fails does not stop the next one", async () => {
		const turns = new KeyedSerial();
		const failing = turns.take("key", async () => {
			throw new Error("no");
		});
		const following = turns.take("key", async () => "yes");
		await expect(failing).rejects.toThrow("no");
		expect(await following).toBe("yes");
	});
});
