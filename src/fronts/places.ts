/** How many pieces of work of one kind may be under way at a time: of one caller, and of all. */

import type { Principal } from "../core/access.ts";
import type { SessionError } from "../core/errors.ts";

type PlaceLimits = { readonly each: number; readonly all: number };

export class Places {
	readonly #limits: PlaceLimits;
	readonly #refusal: () => SessionError;
	/** Whose they are. */
	readonly #taken: string[] = [];

	constructor(limits: PlaceLimits, refusal: () => SessionError) {
		this.#limits = limits;
		this.#refusal = refusal;
	}

	/** Throws if there is none; to be given back once. */
	take({ account }: Pick<Principal, "account">): () => void {
		const own = this.#taken.filter((taken) => taken === account).length;
		if (own >= this.#limits.each || this.#taken.length >= this.#limits.all) throw this.#refusal();
		this.#taken.push(account);
		return () => {
			this.#taken.splice(this.#taken.indexOf(account), 1);
		};
	}
}
