import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { withDeadline } from "../../../src/core/async/deadline.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const aborted = (signal: AbortSignal) =>
	new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("over"), { once: true }));

it("a deadline fires after its time, with any garbage collection in between", async () => {
	const never = new AbortController();
	const waits = Array.from({ length: 50 }, () => withDeadline(20, [never.signal], aborted));
	collectGarbage();
	await Promise.resolve();
	collectGarbage();
	expect(new Set(await Promise.all(waits))).toEqual(new Set(["over"]));
});

it("a combined signal aborts with the first of its signals", async () => {
	const other = new AbortController();
	const waiting = withDeadline(60_000, [new AbortController().signal, other.signal], aborted);
	other.abort();
	expect(await waiting).toBe("over");
});
