import { describe, expect, it } from "vitest";
import { ByteBudget } from "../../src/fronts/byte-budget.ts";
import { Readers } from "../../src/fronts/readers.ts";
import { principalWith } from "./native/test-server.ts";

const viewer = (account: string) => principalWith(["read"], { account });
const controller = (account: string) => principalWith(["read", "operate"], { account });
const operator = principalWith(["read", "operate", "manage"], { account: "admin", isAdmin: true });
const place = (session: string) => ({ workspace: "default", session });

/** How many places somebody gets who takes as many as there are. */
function takeAll(readers: Readers, who: ReturnType<typeof viewer>, session = "s"): (() => void)[] {
	const taken: (() => void)[] = [];
	try {
		for (;;) taken.push(readers.take(who, place(session)));
	} catch (error) {
		expect(error).toMatchObject({ code: "limit_exceeded" });
	}
	return taken;
}

describe("the places of a session", () => {
	it("are as many as may be, and one that is given back can be taken again", () => {
		const readers = new Readers(100);
		const [leave] = takeAll(readers, controller("c"));
		expect(takeAll(readers, controller("c"))).toHaveLength(0);
		leave?.();
		leave?.();
		expect(takeAll(readers, controller("c"))).toHaveLength(1);
	});

	it("are a few for each who looks, and not all for all of them", () => {
		const readers = new Readers(100);
		expect(takeAll(readers, viewer("1"))).toHaveLength(25);
		expect(takeAll(readers, viewer("2"))).toHaveLength(25);
		expect(takeAll(readers, viewer("3"))).toHaveLength(25);
		expect(takeAll(readers, viewer("4"))).toHaveLength(0);
		expect(takeAll(readers, controller("c"))).toHaveLength(25);
	});

	it("have one for everybody who may operate it, whoever is there", () => {
		const readers = new Readers(4);
		for (let id = 0; id < 10; id++) takeAll(readers, viewer(String(id)));
		takeAll(readers, controller("first"));
		expect(takeAll(readers, controller("second"))).toHaveLength(1);
		expect(takeAll(readers, operator)).toHaveLength(1);
	});

	it("are so many for one caller over all sessions, and any number for the operator", () => {
		const readers = new Readers(10);
		const taken = Array.from({ length: 300 }, (_, index) => takeAll(readers, controller("c"), String(index)).length);
		expect(taken.reduce((sum, count) => sum + count)).toBe(256);
		for (let index = 0; index < 300; index++) readers.take(operator, place(String(index)));
	});
});

describe("a budget of bytes", () => {
	const me = { account: "me", isAdmin: false };

	it("gives each caller its part, all callers the whole, and takes back", () => {
		const budget = new ByteBudget({ totalBytes: 100, eachBytes: 60 });
		expect(budget.take(me, 50)).toBe(50);
		expect(budget.take(me, 50)).toBe(10);
		expect(budget.take(null, 50)).toBe(40);
		expect(budget.take({ account: "other", isAdmin: false }, 1)).toBe(0);
		budget.giveBack(me, 60);
		expect(budget.take(me, 100)).toBe(60);
	});

	it("keeps the operator's part, whatever others have", () => {
		const budget = new ByteBudget({ totalBytes: 100, eachBytes: 60 });
		for (const account of ["1", "2"]) budget.take({ account, isAdmin: false }, 60);
		expect(budget.take(operator, 100)).toBe(60);
	});
});
