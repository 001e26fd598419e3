import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Budget, type BudgetLimits } from "../../../src/core/async/budget.ts";

const operator = { account: "admin", isAdmin: true };
const account = (name: string) => ({ account: name, isAdmin: false });

const limitsArbitrary: fc.Arbitrary<BudgetLimits> = fc
	.record({
		operator: fc.integer({ min: 1, max: 4 }),
		fair: fc.integer({ min: 1, max: 4 }),
		accounts: fc.integer({ min: 1, max: 4 }),
		more: fc.integer({ min: 0, max: 6 }),
		beyond: fc.integer({ min: 0, max: 6 }),
	})
	.map(({ operator, fair, accounts, more, beyond }) => {
		return { what: "searches", operator, fair, accounts, others: fair * accounts + more, each: fair + beyond };
	});

type Step = { readonly who: number; readonly amount: number; readonly isBack: boolean };
const steps: fc.Arbitrary<Step[]> = fc.array(
	fc.record({ who: fc.integer({ min: 0, max: 7 }), amount: fc.integer({ min: 1, max: 9 }), isBack: fc.boolean() }),
	{ maxLength: 60 },
);

describe("a budget, whatever callers take and return,", () => {
	it("a budget always keeps the operator's part and the fair parts of the first accounts, and never exceeds its size", () => {
		fc.assert(
			fc.property(limitsArbitrary, steps, (limits, taken) => {
				const budget = new Budget(limits);
				// By name in order of arrival. The operator is the last number.
				const held = new Map<string, number>();
				let ofOperator = 0;
				for (const { who, amount, isBack } of taken) {
					const caller = who === 7 ? operator : account(`a${who}`);
					const has = caller.isAdmin ? ofOperator : (held.get(caller.account) ?? 0);
					if (isBack) {
						const back = Math.min(amount, has);
						budget.giveBack(caller, back);
						if (caller.isAdmin) ofOperator -= back;
						else if (has > back) held.set(caller.account, has - back);
						else held.delete(caller.account);
						continue;
					}
					const first = [...held.keys()].slice(0, limits.accounts);
					const isKept = first.includes(caller.account) || (has === 0 && held.size < limits.accounts);
					const least = caller.isAdmin ? limits.operator - has : isKept ? limits.fair - has : 0;
					const got = budget.take(caller, amount);
					expect(got).toBeGreaterThanOrEqual(Math.min(amount, Math.max(0, least)));
					expect(got).toBeLessThanOrEqual(amount);
					if (caller.isAdmin) ofOperator += got;
					else if (has + got > 0) held.set(caller.account, has + got);
					for (const one of held.values()) expect(one).toBeLessThanOrEqual(limits.each);
					const all = [...held.values()].reduce((sum, one) => sum + one, ofOperator);
					expect(all).toBeLessThanOrEqual(limits.operator + limits.others);
				}
				// All of it is returned.
				for (const [name, has] of held) budget.giveBack(account(name), has);
				budget.giveBack(operator, ofOperator);
				for (let index = 0; index < limits.accounts; index++) {
					expect(budget.take(account(`new${index}`), limits.fair)).toBe(limits.fair);
				}
				expect(budget.take(operator, limits.operator)).toBe(limits.operator);
			}),
			{ numRuns: 2_000 },
		);
	});
});

describe("a refusal of a budget", () => {
	const limits = { what: "searches", operator: 1, others: 4, each: 2, fair: 1, accounts: 3, hint: "wait" };
	it("a refusal names the limit and its value", () => {
		const budget = new Budget(limits);
		const refused = (message: string) => expect.objectContaining({ code: "limit_exceeded", message, hint: "wait" });
		for (const name of ["a", "a", "b"]) budget.enter(account(name));
		expect(() => budget.enter(account("a"))).toThrow(refused("no more searches: this token has 2 (limit 2 per token)"));
		expect(() => budget.enter(account("b"))).toThrow(
			refused("no more searches: this token has 1; all tokens have 3 of 4, and the rest is reserved"),
		);
		const leave = budget.enter(operator);
		expect(() => budget.enter(operator)).toThrow(
			refused("no more searches: the operator has 1 (1 reserved) and no more are free"),
		);
		leave();
		leave();
		budget.enter(operator);
		expect(() => budget.enter(operator)).toThrow(refused(expect.stringContaining("the operator has 1") as never));
	});

	it("a refusal is the same for all callers without a credential, who are one account", () => {
		const budget = new Budget(limits);
		budget.enter(null);
		budget.enter(null);
		expect(() => budget.enter(null)).toThrow(expect.objectContaining({ code: "limit_exceeded" }));
		expect(budget.take(account("a"), 9)).toBe(1);
	});

	it("a budget requires parts that fit", () => {
		expect(() => new Budget({ ...limits, accounts: 5 })).toThrow("invariant");
	});
});
