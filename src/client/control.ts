/** Who may write, as far as this attachment is concerned: what it demanded, and what it was told. */

import type { ClientMessage, LeaseMessage } from "../protocol/socket.ts";
import { HawserError } from "./error.ts";

export type TakeOptions = {
	/** Nobody else may write while we have it. True by default. */
	readonly exclusive?: boolean;
	/** Also from somebody who has it exclusively. */
	readonly force?: boolean;
};

type Demand = Extract<ClientMessage, { type: "take" | "release" }>;
type Waiting = { readonly demand: Demand; resolve(lease: LeaseMessage): void; reject(error: unknown): void };

export class Control {
	/** Demanded again on every connection, but never by force: somebody else may have got it in between. */
	#wish: Demand | undefined;
	#waiting: Waiting[] = [];
	#lease: LeaseMessage | undefined;

	constructor(isWanted: boolean) {
		if (isWanted) this.#wish = { type: "take", exclusive: true, force: false };
	}

	/** Why a write can't succeed now; undefined when it can. */
	get obstacle(): HawserError | undefined {
		const lease = this.#lease;
		if (!lease?.exclusive || lease.mine || this.#wish) return undefined;
		return new HawserError("not_writable", `${lease.holder ?? "somebody else"} has control of the session`, {
			hint: "take control first: attachment.take({ force: true })",
		});
	}

	/** Notes a demand; the answer is the lease after it. */
	demand(demand: Demand): Promise<LeaseMessage> {
		this.#wish = demand.type === "take" ? { ...demand, force: false } : undefined;
		const lease = this.#lease;
		// A server has nothing to say to one who gives back what it does not have.
		if (demand.type === "release" && lease && !lease.mine && this.#waiting.length === 0) return Promise.resolve(lease);
		return new Promise((resolve, reject) => this.#waiting.push({ demand, resolve, reject }));
	}

	/** What to say at the beginning of a connection, which never has control. */
	open(lease: LeaseMessage): Demand[] {
		this.#lease = lease;
		const waiting = this.#waiting.map(({ demand }) => demand);
		if (waiting.length > 0) return waiting;
		return this.#wish ? [this.#wish] : [];
	}

	granted(lease: LeaseMessage): void {
		// Somebody took it from us: to demand it again on the next connection would be a fight.
		if (this.#lease?.mine && !lease.mine) this.#wish = undefined;
		this.#lease = lease;
		const [first] = this.#waiting;
		if (!first || lease.mine !== (first.demand.type === "take")) return;
		this.#waiting.shift();
		first.resolve(lease);
	}

	/** True if the refusal was the answer to a demand. */
	refused(error: HawserError): boolean {
		this.#wish = undefined;
		const first = this.#waiting.shift();
		first?.reject(error);
		return first !== undefined;
	}

	fail(error: unknown): void {
		for (const { reject } of this.#waiting.splice(0)) reject(error);
	}
}
