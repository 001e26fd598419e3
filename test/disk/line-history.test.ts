import { appendFile, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { LineHistory } from "../../src/disk/line-history.ts";
import { fill, withSmallDisk } from "../support/small-disk.ts";
import { temporaryDirectory } from "../support/temporary.ts";

const head = () => "head";

async function open(directory: string, maxBytes = 64 * 1024) {
	const problems: unknown[] = [];
	const report = (problem: unknown) => problems.push(problem);
	const history = await LineHistory.open({ directory, name: "lines", maxBytes, report });
	onTestFinished(() => history.close());
	return { history, problems };
}

const first = (directory: string) => join(directory, "lines-000001.jsonl");

test("stored lines are read again, without an incomplete last line", async () => {
	const directory = await temporaryDirectory();
	const { history } = await open(directory);
	expect(history.kept).toEqual([]);
	await history.append([{ a: 1 }, "é\u2028"], head);
	await appendFile(first(directory), '{"half":');
	const { history: next, problems } = await open(directory);
	expect(next.kept).toEqual(["head", { a: 1 }, "é\u2028"]);
	await next.append([2], head);
	expect((await open(directory)).history.kept).toEqual(["head", { a: 1 }, "é\u2028", 2]);
	expect(problems).toEqual([]);
});

test("a damaged line and all later ones are dropped, and reported", async () => {
	const directory = await temporaryDirectory();
	await (await open(directory)).history.append([1], head);
	await appendFile(first(directory), "nonsense\n3\n");
	const { history, problems } = await open(directory);
	expect(history.kept).toEqual(["head", 1]);
	expect(problems).toMatchObject([{ message: expect.stringContaining("is damaged from byte 9 on") }]);
	await history.append([2], head);
	expect(await readFile(first(directory), "utf8")).toBe('"head"\n1\n2\n');
});

test("the oldest lines are dropped, and each file begins with a head", async () => {
	const directory = await temporaryDirectory();
	const { history } = await open(directory, 8 * 100);
	for (let count = 0; count < 1_000; count++) await history.append([count], () => `before ${count}`);
	const names = await readdir(directory);
	expect(names).toHaveLength(8);
	const { kept } = (await open(directory)).history;
	const numbers = kept.filter((line) => typeof line === "number");
	const [begin = 0] = numbers;
	expect(numbers).toEqual(Array.from({ length: 1_000 - begin }, (_, index) => begin + index));
	expect(begin).toBeGreaterThan(0);
	expect(kept[0]).toBe(`before ${begin}`);
});

test("a head longer than a file's limit leaves room for as many lines, also after a restart", async () => {
	const directory = await temporaryDirectory();
	const long = () => "h".repeat(1_000);
	for (let count = 0; count < 300; count++) {
		const { history } = await open(directory, 8 * 100);
		await history.append([count], long);
		await history.close();
	}
	const { kept } = (await open(directory, 8 * 100)).history;
	const numbers = kept.filter((line) => typeof line === "number");
	expect(numbers.length).toBeGreaterThan(250);
	expect(numbers.at(-1)).toBe(299);
	expect(JSON.stringify(kept).length).toBeLessThan(4 * 1_010);
	expect(await readdir(directory)).toHaveLength(2);
});

test("a full disk stores a line completely or not at all, and the next one once there is space", async () => {
	await withSmallDisk(256 * 1024, async (directory) => {
		const { history } = await open(directory, 1024 * 1024);
		await history.append([1], head);
		const filler = await fill(directory);
		const long = "x".repeat(16 * 1024);
		await expect(history.append([long], head)).rejects.toMatchObject({ code: "ENOSPC" });
		await rm(filler);
		await history.append([2], head);
		expect((await open(directory)).history.kept).toEqual(["head", 1, 2]);
		await history.close();
	});
});
