import { expect, it } from "vitest";
import { Backlog } from "../../src/fronts/backlog.ts";

/** Connections that say who of them is cut off. */
function connections(count: number) {
	const cut: number[] = [];
	const holders = Array.from({ length: count }, (_, index) => ({ cut: () => void cut.push(index) }));
	return { cut, holders };
}

it("nobody is cut off as long as all together keep no more than they may", () => {
	const { cut, holders } = connections(3);
	const backlog = new Backlog(300);
	for (const holder of holders) backlog.note(holder, 100);
	expect(cut).toEqual([]);
});

it("whoever keeps most is cut off when it is too much, and not who came last", () => {
	const { cut, holders } = connections(3);
	const backlog = new Backlog(300);
	[100, 150, 51].forEach((bytes, index) => {
		const holder = holders[index];
		if (holder) backlog.note(holder, bytes);
	});
	expect(cut).toEqual([1]);
});

it("what was dealt with does not count any more", () => {
	const { cut, holders } = connections(2);
	const backlog = new Backlog(300);
	for (let round = 0; round < 10; round++) {
		for (const holder of holders) backlog.note(holder, 150);
		for (const holder of holders) backlog.note(holder, 0);
	}
	expect(cut).toEqual([]);
});
