/** Decisions on what is held, given from a page, and why one came to nothing. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { type ApprovalMessage, type Client, type DecideApproval, decideHeld, HawserError } from "hawser/client";

/** How long it is said why a decision came to nothing. */
const SHOWN_MS = 6_000;

export class Decisions {
	readonly #client: Client;
	readonly #decided: (id: string) => void;
	readonly #underWay = new Set<string>();
	readonly #failure = signal<string | undefined>(undefined);
	readonly #doubted = signal<string | undefined>(undefined);

	/** `decided` hears what is not to be decided any more. */
	constructor(client: Client, decided: (id: string) => void) {
		this.#client = client;
		this.#decided = decided;
	}

	/** Why something that was decided here was not done. */
	get failure(): ReadonlySignal<string | undefined> {
		return this.#failure;
	}

	/** Whether it is to be approved once more, now that it was said that its session has written something since. */
	isDoubted({ id }: ApprovalMessage): boolean {
		return this.#doubted.value === id;
	}

	/** Nothing, if one is on its way: two clicks are one decision. */
	async decide(approval: ApprovalMessage, decision: DecideApproval["decision"], hasChanged: boolean): Promise<void> {
		const { id } = approval;
		if (this.#underWay.has(id)) return;
		const evenIfChanged = this.isDoubted(approval);
		if (decision === "grant" && hasChanged && !evenIfChanged) {
			this.#doubted.value = id;
			return;
		}
		this.#underWay.add(id);
		try {
			const late = await decideHeld(this.#client, id, { decision, evenIfChanged });
			if (late !== undefined) this.#say(late);
			this.#decided(id);
		} catch (error) {
			if (!(error instanceof HawserError)) throw error;
			this.#say(error.message);
		} finally {
			this.#underWay.delete(id);
		}
	}

	#say(why: string): void {
		this.#failure.value = why;
		setTimeout(() => {
			if (this.#failure.peek() === why) this.#failure.value = undefined;
		}, SHOWN_MS);
	}
}
