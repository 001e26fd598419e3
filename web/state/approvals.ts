/** Decisions on held actions, and why one had no effect. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { type ApprovalMessage, type Client, type DecideApproval, decideApproval, HawserError } from "hawser/client";

/** How long the reason is shown. */
const SHOWN_MS = 6_000;

export class ApprovalDecisions {
	readonly #client: Client;
	readonly #decided: (id: string) => void;
	readonly #underWay = new Set<string>();
	readonly #failure = signal<string | undefined>(undefined);
	readonly #doubted = signal<string | undefined>(undefined);

	/** `decided` is called with the ID of an approval that is no longer pending. */
	constructor(client: Client, decided: (id: string) => void) {
		this.#client = client;
		this.#decided = decided;
	}

	/** Why the last decision had no effect. */
	get failure(): ReadonlySignal<string | undefined> {
		return this.#failure;
	}

	/** Whether the user must confirm, because the session wrote output since the request. */
	needsReconfirm({ id }: ApprovalMessage): boolean {
		return this.#doubted.value === id;
	}

	/** Ignored while another decision is in flight: a double click is one decision. */
	async decide(approval: ApprovalMessage, decision: DecideApproval["decision"], hasChanged: boolean): Promise<void> {
		const { id } = approval;
		if (this.#underWay.has(id)) return;
		const evenIfChanged = this.needsReconfirm(approval);
		if (decision === "grant" && hasChanged && !evenIfChanged) {
			this.#doubted.value = id;
			return;
		}
		this.#underWay.add(id);
		try {
			const late = await decideApproval(this.#client, id, { decision, evenIfChanged });
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
