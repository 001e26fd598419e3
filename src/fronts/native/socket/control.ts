/** A connection's part in the writer lease: what it holds, and what it is told of others. */

import type { Lease } from "../../../core/lease.ts";
import type { Session } from "../../../core/session.ts";
import type { LeaseMessage } from "../../../protocol/socket.ts";
import type { Wire } from "./wire.ts";

export class SocketControl {
	readonly #session: Session;
	readonly #wire: Wire;
	readonly #holder: string;
	/** As the client knows it. */
	#lease: Lease;
	/** The fence under which this connection has control. */
	#fence: number | undefined;
	#asking: Promise<unknown> = Promise.resolve();
	/** Hears of every change of hands. */
	onChange: () => void = () => {};

	/** `holder` is the same for all connections of one client, so that it gets its own control back. */
	constructor(session: Session, options: { wire: Wire; holder: string; lease: Lease }) {
		this.#session = session;
		this.#wire = options.wire;
		this.#holder = options.holder;
		this.#lease = options.lease;
	}

	/** What this connection's acts are done under. Control that others share gives no right beyond theirs: a key that is typed while another takes such control must not be refused for it. */
	get fence(): number | undefined {
		return this.#lease.exclusive ? this.#fence : undefined;
	}

	/** Who this connection is when it has control. */
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
		// Too late to be used, and `watch` may be over already.
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

	/** Tells the client of every change of hands until the connection ends, then gives back what it has. */
	async watch(): Promise<void> {
		try {
			for (let known = this.#lease; !this.#wire.ended.aborted; ) {
				const lease = await this.#session.leaseChange(known, this.#wire.ended);
				if (lease.fence === known.fence && lease.holder === known.holder) break;
				known = lease;
				// The change may be our own, whose answer is still on its way.
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
