/** Orders to minders of another version, since the server's files may be replaced while it runs. */

import { closeSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { type MinderMessage, openNursery, order, receiveFromMinder } from "../../src/native/addon.ts";
import { minderFile } from "../../src/native/minder.ts";
import { eventually } from "../support/reading.ts";

const TAKEN = 6;
const FAILED = 2;

test.each(["0", "1", "3", "s1"])("a minder refuses an order of version %s, and starts nothing", async (version) => {
	const nursery = openNursery(minderFile, 0);
	onTestFinished(() => closeSync(nursery.orders));
	const ends = order(nursery.orders, {
		order: Buffer.from(`${version}\0s1\0${"1000\0".repeat(5)}`),
		terminal: 0,
		cols: 80,
		rows: 24,
		emptyInput: 0,
		oneOutput: 0,
	});
	onTestFinished(() => {
		for (const fd of Object.values(ends)) if (fd >= 0) closeSync(fd);
	});
	const heard: MinderMessage[] = [];
	await eventually("the refusal", () => {
		for (let next = receiveFromMinder(ends.control); next !== null; next = receiveFromMinder(ends.control)) {
			if (next.kind === 0) return true;
			heard.push(next);
		}
		return false;
	});
	expect(heard.map(({ kind, step }) => [kind, step])).toEqual([
		[TAKEN, undefined],
		[FAILED, "version"],
	]);
});
