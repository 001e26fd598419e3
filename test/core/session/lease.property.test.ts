/** The lease never lets an old fence write. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { WriterLease } from "../../../src/core/session/lease.ts";

type Step =
	| { do: "acquire"; client: number; exclusive: boolean; take: boolean }
	| { do: "release"; client: number }
	| { do: "write"; client: number; withFence: boolean }
	| { do: "abandon" };

const step: fc.Arbitrary<Step> = fc.oneof(
	fc.record({
		do: fc.constant("acquire" as const),
		client: fc.nat(3),
		exclusive: fc.boolean(),
		take: fc.boolean(),
	}),
	fc.record({ do: fc.constant("release" as const), client: fc.nat(3) }),
	fc.record({ do: fc.constant("write" as const), client: fc.nat(3), withFence: fc.boolean() }),
	fc.constant({ do: "abandon" as const }),
);

test("under any operations of clients, only the newest fence writes, and alone while control is exclusive", () => {
	fc.assert(
		fc.property(fc.array(step, { minLength: 10, maxLength: 60, size: "max" }), (steps) => {
			const lease = new WriterLease();
			const fences: (number | undefined)[] = [];
			let newest = 0;
			for (const step of steps) {
				const before = lease.current;
				switch (step.do) {
					case "acquire": {
						const isRefused = before.exclusive && before.holder !== `c${step.client}` && !step.take;
						const acquire = () => lease.acquire(`c${step.client}`, step);
						if (isRefused) expect(acquire).toThrow("controlled by");
						else {
							newest = acquire().fence;
							fences[step.client] = newest;
						}
						break;
					}
					case "release": {
						const fence = fences[step.client];
						if (fence === undefined) break;
						const after = lease.release(fence);
						if (fence === before.fence) expect(after).toMatchObject({ holder: null, exclusive: false });
						else expect(after).toEqual(before);
						newest = after.fence;
						break;
					}
					case "abandon":
						lease.abandon();
						break;
					case "write": {
						const fence = step.withFence ? fences[step.client] : undefined;
						const write = () => lease.check(fence);
						const isAllowed = fence === undefined ? !before.exclusive : fence === newest;
						if (isAllowed) expect(write).not.toThrow();
						else expect(write).toThrow();
					}
				}
				expect(lease.current.fence).toBeGreaterThanOrEqual(before.fence);
			}
		}),
		{ numRuns: 1_000 },
	);
});

test("a change of control wakes its waiters, and an abort ends the wait", async () => {
	const lease = new WriterLease();
	const first = lease.acquire("ana", { exclusive: true, take: false });
	const change = lease.differs(first);
	const second = lease.acquire("ben", { exclusive: true, take: true });
	expect(await change).toEqual(second);
	const controller = new AbortController();
	const aborted = lease.differs(second, controller.signal);
	controller.abort();
	expect(await aborted).toEqual(second);
});
