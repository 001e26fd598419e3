import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { within } from "../../src/core/within.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const aborted = (signal: AbortSignal) =>
	new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("over"), { once: true }));

it("is over after its time, however much garbage is collected meanwhile", async () => {
	const never = new AbortController();
	const waits = Array.from({ length: 50 }, () => within(20, [never.signal], aborted));
	collectGarbage();
	await Promise.resolve();
	collectGarbage();
	expect(new Set(await Promise.all(waits))).toEqual(new Set(["over"]));
});

it("is over with the first of the signals", async () => {
	const other = new AbortController();
	const waiting = within(60_000, [new AbortController().signal, other.signal], aborted);
	other.abort();
	expect(await waiting).toBe("over");
});
