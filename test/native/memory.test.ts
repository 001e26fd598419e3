// @module-tag apart

/** Memory returned to the system. */

import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

/**
 * A process of its own, so that no other code uses its heap; the last buffer keeps the heap from shrinking by itself.
 */
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

test("trimMemory returns freed memory to the system", () => {
	const flags = ["--expose-gc", "--single-threaded", "--input-type=module", "--eval", script];
	const [givenBack] = execFileSync(process.execPath, flags, { encoding: "utf8" }).split(" ");
	expect(Number(givenBack)).toBeGreaterThan(80_000_000);
});
