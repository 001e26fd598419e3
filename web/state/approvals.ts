/** What waits to be approved, as the server has it: listed anew whenever the feed tells of a change. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { type ApprovalMessage, type Client, type DecideApproval, HawserError } from "hawser/client";

/** How long it is said why a decision came to nothing. */
const SHOWN_MS = 6_000;

export class PendingApprovals {
	readonly #client: Client;
	readonly #all = signal<readonly ApprovalMessage[]>([]);
	/** Why something that was decided here was not done. */
	readonly #failure = signal<string | undefined>(undefined);
	#isListing = false;
	#isStale = false;

	constructor(client: Client) {
		this.#client = client;
	}

	/** Oldest first. */
	get all(): ReadonlySignal<readonly ApprovalMessage[]> {
		return this.#all;
	}

	get failure(): ReadonlySignal<string | undefined> {
		return this.#failure;
	}

	/** One list at a time: what changes meanwhile is in the next. */
	async refresh(): Promise<void> {
		this.#isStale = true;
		if (this.#isListing) return;
		this.#isListing = true;
		try {
			while (this.#isStale) {
				this.#isStale = false;
				this.#all.value = await this.#client.approvals.list();
			}
		} catch (error) {
			// While we are cut off nothing can be decided; there is a new list after that.
			if (!(error instanceof HawserError)) throw error;
			this.#all.value = [];
		} finally {
			this.#isListing = false;
		}
	}

	/** It is gone from here at once: two clicks are one decision. */
	async decide({ id }: ApprovalMessage, decision: DecideApproval["decision"]): Promise<void> {
		if (!this.#all.peek().some((one) => one.id === id)) return;
		this.#all.value = this.#all.peek().filter((one) => one.id !== id);
		try {
			const { state, note = "" } = await this.#client.approvals.decide(id, { decision });
			if (decision === "grant" && state !== "granted") this.#say(note);
		} catch (error) {
			if (!(error instanceof HawserError)) throw error;
			this.#say(error.message);
			void this.refresh();
		}
	}

	#say(why: string): void {
		this.#failure.value = why;
		setTimeout(() => {
			if (this.#failure.peek() === why) this.#failure.value = undefined;
		}, SHOWN_MS);
	}
}
