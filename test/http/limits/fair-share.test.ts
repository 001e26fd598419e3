import { expect, it } from "vitest";
import { FairScheduler } from "../../../src/http/limits/fair-share.ts";

/** Length of a turn in these tests. */
const TURN_MS = 2;
const LARGE_BYTES = 64 * 1024;

/** Blocks for a whole turn. */
function spin(): void {
	for (const end = performance.now() + TURN_MS; performance.now() < end; );
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Records the order of work; each item takes a turn. */
function recorder() {
	const share = new FairScheduler(TURN_MS);
	const order: string[] = [];
	const ask = (caller: object, bytes: number, name: string) =>
		share.take(caller, bytes, () => {
			spin();
			order.push(name);
		});
	return { order, ask };
}

it("a message runs at once if none is waiting", () => {
	const { order, ask } = recorder();
	ask({}, 1, "only");
	expect(order).toEqual(["only"]);
});

it("a turn of the loop is limited in time, however many messages wait", async () => {
	const { order, ask } = recorder();
	for (let count = 0; count < 6; count++) ask({}, 1, "one");
	for (let turn = 1; turn <= 6; turn++) {
		expect(order).toHaveLength(turn);
		await nextTurn();
	}
});

it("a connection with little use is served next, however many newer connections use a lot", async () => {
	const { order, ask } = recorder();
	const modest = {};
	ask(modest, 10, "little");
	for (let round = 0; round < 5; round++) {
		for (let count = 0; count < 3; count++) {
			const greedy = {};
			for (let times = 0; times < 3; times++) ask(greedy, LARGE_BYTES, "much");
		}
		for (let turn = 0; turn < 5; turn++) await nextTurn();
		const before = order.length;
		ask(modest, 10, "little");
		await nextTurn();
		await nextTurn();
		// A connection that arrived meanwhile may have had nothing at all.
		expect(order.slice(before)).toContain("little");
	}
	while (order.length < 5 * 3 * 3 + 6) await nextTurn();
});

it("messages of one connection stay in order", async () => {
	const { order, ask } = recorder();
	const caller = {};
	for (const name of ["a", "b", "c", "d"]) ask(caller, 10, name);
	while (order.length < 4) await nextTurn();
	expect(order).toEqual(["a", "b", "c", "d"]);
});

it("a connection that was idle for long is ahead of others by one large message at most", async () => {
	const { order, ask } = recorder();
	const [back, other] = [{}, {}];
	ask(back, LARGE_BYTES, "back");
	for (let count = 0; count < 10; count++) ask(other, LARGE_BYTES, "other");
	while (order.length < 8) await nextTurn();
	for (let count = 0; count < 4; count++) ask(back, LARGE_BYTES, "back");
	while (order.length < 15) await nextTurn();
	expect(order.slice(8)).toEqual(["back", "back", "other", "back", "other", "back", "other"]);
});
