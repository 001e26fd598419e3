/** The slot of a PTY's holder under every order of events. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { Holder } from "../../../../src/fronts/dropins/opensandbox/socket/holder.ts";

test("6.2: a second holder is refused until the first has left", () => {
	const holder = new Holder();
	const first = holder.take(() => {});
	expect([holder.isHeld, holder.take(() => {})]).toEqual([true, undefined]);
	first?.leave();
	expect(holder.isHeld).toBe(false);
	expect(holder.take(() => {})).toBeDefined();
});

test("I-40: a holder that leaves late frees only its own slot", () => {
	const holder = new Holder();
	const first = holder.take(() => {});
	first?.leave();
	let evictions = 0;
	holder.take(() => evictions++);
	first?.leave();
	expect(holder.isHeld).toBe(true);
	void holder.takeOver(() => {}, new AbortController().signal);
	expect(evictions).toBe(1);
});

test("a take-over of a free slot evicts no client", async () => {
	const holder = new Holder();
	const seat = await holder.takeOver(() => {}, new AbortController().signal);
	expect([seat !== undefined, holder.isHeld]).toEqual([true, true]);
});

test("an abandoned take-over takes nothing, then or later", async () => {
	const holder = new Holder();
	const first = holder.take(() => {});
	const patience = new AbortController();
	const asking = holder.takeOver(() => {}, patience.signal);
	patience.abort();
	expect(await asking).toBeUndefined();
	first?.leave();
	await Promise.resolve();
	expect(holder.isHeld).toBe(false);
});

test("a holder that leaves during its own eviction is not waited for", async () => {
	const holder = new Holder();
	const first = holder.take(() => first?.leave());
	expect(await holder.takeOver(() => {}, new AbortController().signal)).toBeDefined();
});

test("2.12: under every interleaving at most one client has the slot, and a take-over gets it unless it gives up", async () => {
	const actor = fc.record({
		isTakeover: fc.boolean(),
		/** Whether it also leaves by itself, without eviction. */
		leavesAlone: fc.boolean(),
		/** How slowly it leaves. */
		cleanUp: fc.nat(3),
	});
	await fc.assert(
		fc.asyncProperty(fc.scheduler(), fc.array(actor, { minLength: 2, maxLength: 7 }), async (scheduler, actors) => {
			const holder = new Holder();
			const patience = new AbortController();
			const pause = (label: string) => scheduler.schedule(Promise.resolve(), label);
			let seated = 0;
			let most = 0;
			let takeovers = 0;
			const lives = actors.map(async ({ isTakeover, leavesAlone, cleanUp }, index) => {
				await pause(`${index} comes`);
				const evicted = new AbortController();
				const evict = () => evicted.abort();
				const seat = isTakeover ? await holder.takeOver(evict, patience.signal) : holder.take(evict);
				if (!seat) return;
				most = Math.max(most, ++seated);
				if (isTakeover) takeovers++;
				await pause(`${index} stays`);
				if (!leavesAlone && !evicted.signal.aborted)
					await new Promise((resolve) => {
						evicted.signal.addEventListener("abort", resolve);
						patience.signal.addEventListener("abort", resolve);
					});
				for (let step = 0; step < cleanUp; step++) await pause(`${index} cleans up`);
				seated--;
				seat.leave();
				seat.leave();
			});
			await scheduler.waitFor(scheduler.waitIdle().then(() => undefined));
			expect(takeovers).toBe(actors.filter(({ isTakeover }) => isTakeover).length);
			patience.abort();
			await scheduler.waitFor(Promise.all(lives));
			expect([most, seated, holder.isHeld]).toEqual([1, 0, false]);
		}),
		{ numRuns: 300 },
	);
});
