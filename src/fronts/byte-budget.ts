/** How many bytes are held for callers at a time: so many in all, of which each may have a part. */

import type { Principal } from "../core/access.ts";

type BudgetOptions = {
	readonly totalBytes: number;
	/** The operator may have as much, whatever others have. */
	readonly eachBytes: number;
};

/** Nobody who is known: all of them are one caller. */
const NOBODY = { account: "", isAdmin: false };

export class ByteBudget {
	readonly #options: BudgetOptions;
	readonly #held = new Map<string, number>();
	#all = 0;

	constructor(options: BudgetOptions) {
		this.#options = options;
	}

	/** How many of the bytes may be held; they are from now on, until they are given back. */
	take(principal: Pick<Principal, "account" | "isAdmin"> | null, wanted: number): number {
		const { account, isAdmin } = principal ?? NOBODY;
		const { totalBytes, eachBytes } = this.#options;
		const held = this.#held.get(account) ?? 0;
		const room = Math.min(eachBytes - held, isAdmin ? eachBytes : totalBytes - this.#all);
		const taken = Math.max(0, Math.min(wanted, room));
		if (taken > 0) this.#held.set(account, held + taken);
		this.#all += taken;
		return taken;
	}

	giveBack(principal: Pick<Principal, "account"> | null, bytes: number): void {
		const { account } = principal ?? NOBODY;
		const held = (this.#held.get(account) ?? 0) - bytes;
		if (held > 0) this.#held.set(account, held);
		else this.#held.delete(account);
		this.#all -= bytes;
	}
}
