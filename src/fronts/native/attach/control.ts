/** A connection's part in the writer lease: what it holds, and notifications of changes. */

import type { LeaseMessage } from "../../../api/types.ts";
import type { Lease } from "../../../core/session/lease.ts";
import type { Session } from "../../../core/session/session.ts";
import type { AttachWire } from "./wire.ts";

export class SocketControl {
	readonly #session: Session;
	readonly #wire: AttachWire;
	readonly #holder: string;
	/** The lease last reported to the client. */
	#lease: Lease;
	/** The fence under which this connection has control. */
	#fence: number | undefined;
	#asking: Promise<unknown> = Promise.resolve();
	/** Called when the lease changes. */
	onChange: () => void = () => {};

	/** `holder` is the same for all connections of one client, so that a reconnected client keeps its lease. */
	constructor(session: Session, options: { wire: AttachWire; holder: string; lease: Lease }) {
		this.#session = session;
		this.#wire = options.wire;
		this.#holder = options.holder;
		this.#lease = options.lease;
	}

	/**
	 * The fence sent with actions. None for a shared lease: a key press must not be refused because another client takes
	 * shared control meanwhile.
	 */
	get fence(): number | undefined {
		return this.#lease.exclusive ? this.#fence : undefined;
	}

	/** Name of this connection as a lease holder. */
	get holder(): string {
		return this.#holder;
	}

	get message(): LeaseMessage {
		const { fence, holder, exclusive } = this.#lease;
		return { fence, holder, exclusive, mine: this.#fence === fence && holder !== null };
	}

	async take(options: { readonly exclusive: boolean; readonly force: boolean }): Promise<void> {
		const asking = this.#session.acquire(this.#holder, { exclusive: options.exclusive, take: options.force });
		this.#asking = asking.catch(() => {});
		const lease = await asking;
		this.#fence = lease.fence;
		// The connection ended meanwhile, and `watch` may already have finished.
		if (this.#wire.ended.aborted) await this.release();
		this.#learn(lease);
	}

	async release(): Promise<void> {
		const fence = this.#fence;
		if (fence === undefined) return;
		const asking = this.#session.release(fence);
		this.#asking = asking.catch(() => {});
		this.#learn(await asking);
	}

	/** Notifies the client of lease changes until the connection ends, then releases its lease. */
	async watch(): Promise<void> {
		try {
			for (let known = this.#lease; !this.#wire.ended.aborted; ) {
				const lease = await this.#session.leaseChange(known, this.#wire.ended);
				if (lease.fence === known.fence && lease.holder === known.holder) break;
				known = lease;
				// The change may come from our own request, whose answer is still pending.
				await this.#asking;
				this.#learn(lease);
			}
		} finally {
			if (this.#fence !== undefined) await this.#session.release(this.#fence);
		}
	}

	#learn(lease: Lease): void {
		const { fence, holder } = this.#lease;
		if (lease.fence < fence || (lease.fence === fence && lease.holder === holder)) return;
		this.#lease = lease;
		if (lease.fence !== this.#fence || lease.holder === null) this.#fence = undefined;
		this.#wire.say({ type: "lease", lease: this.message });
		this.onChange();
	}
}
