import { Change } from "../async/change.ts";
import { SessionError } from "../errors.ts";

/**
 * The write lease of a session. The fence grows with each change of the holder; an action under an older fence is
 * refused.
 */
export type Lease = {
	readonly fence: number;
	readonly holder: string | null;
	/** Only actions under the current fence are accepted. */
	readonly exclusive: boolean;
};

export class WriterLease {
	#lease: Lease = { fence: 0, holder: null, exclusive: false };
	readonly #change = new Change();

	get current(): Lease {
		return this.#lease;
	}

	/** Refuses an action under an old fence, or without a fence while a client has exclusive control. */
	check(fence: number | undefined): void {
		const { holder, exclusive, fence: current } = this.#lease;
		if (fence === undefined ? !exclusive : fence === current) return;
		throw new SessionError(
			"not_writable",
			fence === undefined
				? `the session is controlled by ${JSON.stringify(holder)}`
				: `control has changed hands: fence ${fence} is no longer valid, the current one is ${current}`,
			{ hint: "take control to write" },
		);
	}

	acquire(holder: string, options: { readonly exclusive: boolean; readonly take: boolean }): Lease {
		const { exclusive, holder: other } = this.#lease;
		if (exclusive && other !== holder && !options.take) {
			throw new SessionError("not_writable", `the session is controlled by ${JSON.stringify(other)}`, {
				hint: "take control to write",
			});
		}
		return this.#set({ fence: this.#lease.fence + 1, holder, exclusive: options.exclusive });
	}

	/** Gives control back. Has no effect under an old fence, because control was lost already. */
	release(fence: number): Lease {
		if (fence !== this.#lease.fence) return this.#lease;
		return this.#set({ fence: fence + 1, holder: null, exclusive: false });
	}

	/**
	 * The holder's connection is gone. Others may write, and it may continue under its fence if no other client took
	 * control.
	 */
	abandon(): void {
		if (this.#lease.holder !== null) this.#set({ fence: this.#lease.fence, holder: null, exclusive: false });
	}

	/** Resolves with the lease once it differs from the given one. */
	async differs(known: Lease, signal?: AbortSignal): Promise<Lease> {
		while (!signal?.aborted && this.#lease.fence === known.fence && this.#lease.holder === known.holder) {
			await this.#change.wait(signal);
		}
		return this.#lease;
	}

	#set(lease: Lease): Lease {
		this.#lease = lease;
		this.#change.happen();
		return lease;
	}
}
