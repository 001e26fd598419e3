import { expect, it } from "vitest";
import { Backlog } from "../../../src/http/limits/backlog.ts";

/** Connections that record which of them is cut. */
function connections(count: number) {
	const cut: number[] = [];
	const holders = Array.from({ length: count }, (_, index) => ({ cut: () => void cut.push(index) }));
	return { cut, holders };
}

it("no connection is cut while the total is within the limit", () => {
	const { cut, holders } = connections(3);
	const backlog = new Backlog(300);
	for (const holder of holders) backlog.note(holder, 100);
	expect(cut).toEqual([]);
});

it("the connection that holds the most is cut above the limit, not the newest", () => {
	const { cut, holders } = connections(3);
	const backlog = new Backlog(300);
	[100, 150, 51].forEach((bytes, index) => {
		const holder = holders[index];
		if (holder) backlog.note(holder, bytes);
	});
	expect(cut).toEqual([1]);
});

it("processed messages no longer count", () => {
	const { cut, holders } = connections(2);
	const backlog = new Backlog(300);
	for (let round = 0; round < 10; round++) {
		for (const holder of holders) backlog.note(holder, 150);
		for (const holder of holders) backlog.note(holder, 0);
	}
	expect(cut).toEqual([]);
});
