/** Limits of a shared budget. Part of it is reserved for the operator, and part for each of the first accounts. */

import { invariant, SessionError } from "../errors.ts";

export type BudgetLimits = {
	/** Plural noun for error messages, as in "searches". */
	readonly what: string;
	/** Reserved for the operator. */
	readonly operator: number;
	/** For all other callers together. The operator may also use what is not reserved for an account. */
	readonly others: number;
	/** Limit per account. */
	readonly each: number;
	/** Reserved for each of the first `accounts` accounts, whether they use it yet or not. */
	readonly fair: number;
	readonly accounts: number;
	/** Hint of the error when the budget is used up. */
	readonly hint?: string;
};

/** The caller that the budget is charged to. */
export type BudgetCaller = { readonly account: string; readonly isAdmin: boolean };

/** Callers without a credential share one account. */
const ANONYMOUS: BudgetCaller = { account: "", isAdmin: false };

export class Budget {
	readonly #limits: BudgetLimits;
	/** Held units by account, without the operator's. */
	readonly #held = new Map<string, number>();
	#operator = 0;

	constructor(limits: BudgetLimits) {
		const { others, each, fair, accounts } = limits;
		invariant(fair <= each && fair * accounts <= others, `${limits.what}: reserved parts exceed the total`);
		this.#limits = limits;
	}

	/** Takes up to `wanted` units, as many as the caller may have now, and returns the number taken. */
	take(caller: BudgetCaller | null, wanted: number): number {
		const { account, isAdmin } = caller ?? ANONYMOUS;
		const taken = Math.max(0, Math.min(wanted, this.#room(caller ?? ANONYMOUS)));
		if (isAdmin) this.#operator += taken;
		else if (taken > 0) this.#held.set(account, this.#heldBy(account) + taken);
		return taken;
	}

	giveBack(caller: BudgetCaller | null, amount: number): void {
		const { account, isAdmin } = caller ?? ANONYMOUS;
		if (isAdmin) {
			this.#operator -= amount;
			return;
		}
		const held = this.#heldBy(account) - amount;
		if (held > 0) this.#held.set(account, held);
		else this.#held.delete(account);
	}

	/** Takes one unit, or throws `limit_exceeded`. The returned function gives it back once. */
	enter(caller: BudgetCaller | null): () => void {
		if (this.take(caller, 1) === 0) throw this.refusal(caller);
		let isIn = true;
		return () => {
			if (isIn) this.giveBack(caller, 1);
			isIn = false;
		};
	}

	/** The error for a caller that gets no more. It names the limit and its value. */
	refusal(caller: BudgetCaller | null): SessionError {
		const { what, operator, others, each, hint } = this.#limits;
		const { account, isAdmin } = caller ?? ANONYMOUS;
		const held = this.#heldBy(account);
		const full = isAdmin
			? `the operator has ${this.#operator} (${operator} reserved) and no more are free`
			: held >= each
				? `this token has ${held} (limit ${each} per token)`
				: `this token has ${held}; all tokens have ${this.#shared} of ${others}, and the rest is reserved`;
		return new SessionError("limit_exceeded", `no more ${what}: ${full}`, hint === undefined ? {} : { hint });
	}

	/** Units that the caller may take in addition to those it holds. */
	#room({ account, isAdmin }: BudgetCaller): number {
		const { operator, others, each, fair } = this.#limits;
		const free = others - this.#shared;
		if (isAdmin) return Math.max(0, operator - this.#operator) + Math.max(0, free - this.#reservedFor(this.#first()));
		const held = this.#heldBy(account);
		const first = this.#first(account);
		const own = first.includes(account) ? Math.max(0, fair - held) : 0;
		const beyond = free - own - this.#reservedFor(first, account);
		return Math.min(each - held, own + Math.max(0, beyond));
	}

	/** The accounts with a reserved part: the first to hold something, plus the newcomer if a reservation is left. */
	#first(newcomer?: string): readonly string[] {
		const { accounts } = this.#limits;
		const first = [...this.#held.keys()].slice(0, accounts);
		const isNew = newcomer !== undefined && !this.#held.has(newcomer);
		return isNew && first.length < accounts ? [...first, newcomer] : first;
	}

	/** Unused reservations of these accounts except `besides`, and of accounts that have not come yet. */
	#reservedFor(first: readonly string[], besides?: string): number {
		const { fair, accounts } = this.#limits;
		const missing = first.map((account) => (account === besides ? 0 : Math.max(0, fair - this.#heldBy(account))));
		return missing.reduce((sum, part) => sum + part, (accounts - first.length) * fair);
	}

	/** Units taken from the shared part. The operator uses its own part first. */
	get #shared(): number {
		const beyond = Math.max(0, this.#operator - this.#limits.operator);
		return [...this.#held.values()].reduce((sum, held) => sum + held, beyond);
	}

	#heldBy(account: string): number {
		return this.#held.get(account) ?? 0;
	}
}
