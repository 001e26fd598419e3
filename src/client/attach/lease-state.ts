/** The lease as this attachment sees it: what it requested, and what the server reported. */

import type { ClientMessage, LeaseMessage } from "../../api/types.ts";
import { HawserError } from "../errors.ts";

export type TakeOptions = {
	/** Excludes other writers. Default: true. */
	readonly exclusive?: boolean;
	/** Takes control even from an exclusive holder. */
	readonly force?: boolean;
};

type LeaseRequest = Extract<ClientMessage, { type: "take" | "release" }>;
type Waiting = { readonly request: LeaseRequest; resolve(lease: LeaseMessage): void; reject(error: unknown): void };

export class LeaseState {
	/**
	 * Requested again on every connection, but never with force, because another client may have taken control in
	 * between.
	 */
	#wanted: LeaseRequest | undefined;
	#waiting: Waiting[] = [];
	#lease: LeaseMessage | undefined;

	constructor(isWanted: boolean) {
		if (isWanted) this.#wanted = { type: "take", exclusive: true, force: false };
	}

	/** Why a write would fail now; undefined if it would not. */
	get writeError(): HawserError | undefined {
		const lease = this.#lease;
		if (!lease?.exclusive || lease.mine || this.#wanted) return undefined;
		return new HawserError("not_writable", `${lease.holder ?? "another client"} has exclusive control of the session`, {
			hint: "take it with attachment.take({ force: true })",
		});
	}

	/** Records a request. The next lease message answers it. */
	request(request: LeaseRequest): Promise<LeaseMessage> {
		this.#wanted = request.type === "take" ? { ...request, force: false } : undefined;
		const lease = this.#lease;
		// The server does not answer the release of a lease that this client does not hold.
		if (request.type === "release" && lease && !lease.mine && this.#waiting.length === 0) return Promise.resolve(lease);
		return new Promise((resolve, reject) => this.#waiting.push({ request, resolve, reject }));
	}

	/** The requests for a new connection, which never starts with control. */
	open(lease: LeaseMessage): LeaseRequest[] {
		this.#lease = lease;
		const waiting = this.#waiting.map(({ request }) => request);
		if (waiting.length > 0) return waiting;
		return this.#wanted ? [this.#wanted] : [];
	}

	onLease(lease: LeaseMessage): void {
		// Another client took control. Requesting it again on the next connection would start a fight.
		if (this.#lease?.mine && !lease.mine) this.#wanted = undefined;
		this.#lease = lease;
		const [first] = this.#waiting;
		if (!first || lease.mine !== (first.request.type === "take")) return;
		this.#waiting.shift();
		first.resolve(lease);
	}

	/** Returns whether the refusal answered a request. */
	refused(error: HawserError): boolean {
		this.#wanted = undefined;
		const first = this.#waiting.shift();
		first?.reject(error);
		return first !== undefined;
	}

	fail(error: unknown): void {
		for (const { reject } of this.#waiting.splice(0)) reject(error);
	}
}
