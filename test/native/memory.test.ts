/** Memory that was freed, and what becomes of it. */

import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

/** In a process of its own, whose heap nobody else uses; the last buffer keeps the heap from shrinking by itself. */
const script = `
	import { trimMemory } from ${JSON.stringify(new URL("../../dist/native/addon.js", import.meta.url))};
	let freed = Array.from({ length: 1000 }, () => Buffer.allocUnsafeSlow(100_000).fill(1));
	const last = Buffer.allocUnsafeSlow(100_000).fill(1);
	freed = undefined;
	gc();
	const before = process.memoryUsage.rss();
	trimMemory();
	console.log(before - process.memoryUsage.rss(), last.length);
`;

test("trimMemory gives freed memory back to the system", () => {
	const flags = ["--expose-gc", "--single-threaded", "--input-type=module", "--eval", script];
	const [givenBack] = execFileSync(process.execPath, flags, { encoding: "utf8" }).split(" ");
	expect(Number(givenBack)).toBeGreaterThan(80_000_000);
});
