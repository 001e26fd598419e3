/** The input of one process: writes in their order, each id once, whatever a lost connection makes the client send again. */

import { randomUUID } from "node:crypto";
import { Change } from "../../../core/change.ts";
import { SessionError } from "../../../core/errors.ts";
import { offer } from "../../../core/offer.ts";
import type { Session } from "../../../core/session.ts";
import { unlessNotApproved } from "../../not-approved.ts";
import type { ExecLimits } from "../limits.ts";

export class Stdin {
	/** In the core's ledger; unguessable, because whoever else writes to it would swallow what we write. */
	readonly #stream = randomUUID();
	readonly #session: Session;
	readonly #limits: ExecLimits;
	/** Ids of the writes that were accepted, the oldest first. */
	readonly #accepted = new Set<string>();
	/** Who wants to write, in the order in which they came. */
	readonly #line: object[] = [];
	#queue: Uint8Array[] = [];
	#queuedBytes = 0;
	#position = 0;
	#isFeeding = false;
	#isClosed = false;
	readonly #change = new Change();

	constructor(session: Session, limits: ExecLimits) {
		this.#session = session;
		this.#limits = limits;
	}

	/**
	 * Accepted means queued and, in the same turn, remembered: from then on the bytes are written whatever
	 * becomes of the connection. Whoever is still waiting when the signal aborts has written nothing.
	 */
	async write(id: string, bytes: Uint8Array, signal: AbortSignal): Promise<"accepted" | "stdinClosed"> {
		if (this.#accepted.has(id)) return "accepted";
		const place = {};
		this.#line.push(place);
		try {
			for (;;) {
				if (this.#isOver() || signal.aborted) return "stdinClosed";
				if (this.#line[0] === place) {
					// The same write may have come twice, and have waited twice.
					if (this.#accepted.has(id)) return "accepted";
					if (this.#hasRoom()) return this.#accept(id, bytes);
				}
				await this.#change.next(signal);
			}
		} finally {
			this.#line.splice(this.#line.indexOf(place), 1);
			this.#change.happen();
		}
	}

	/** Nothing more is accepted, and what waits is dropped. */
	close(): void {
		this.#isClosed = true;
		this.#queue = [];
		this.#change.happen();
	}

	/** More is accepted again. */
	reopen(): void {
		this.#isClosed = false;
	}

	#isOver(): boolean {
		return this.#isClosed || this.#session.state.status !== "running";
	}

	#hasRoom(): boolean {
		const { queuedWrites, queuedWriteBytes } = this.#limits;
		return this.#queue.length < queuedWrites && this.#queuedBytes < queuedWriteBytes;
	}

	#accept(id: string, bytes: Uint8Array): "accepted" {
		this.#accepted.add(id);
		if (this.#accepted.size > this.#limits.rememberedWrites) {
			const [oldest] = this.#accepted;
			if (oldest !== undefined) this.#accepted.delete(oldest);
		}
		this.#queue.push(bytes);
		this.#queuedBytes += bytes.byteLength;
		if (!this.#isFeeding) void this.#feed();
		return "accepted";
	}

	async #feed(): Promise<void> {
		this.#isFeeding = true;
		try {
			for (let bytes = this.#queue[0]; bytes; bytes = this.#queue[0]) {
				await this.#give(bytes).catch(unlessNotApproved);
				this.#queue.shift();
				this.#queuedBytes -= bytes.byteLength;
				this.#change.happen();
			}
		} catch (error) {
			// The program takes no more, and the writers learn it here.
			this.close();
			if (!(error instanceof SessionError)) throw error;
		} finally {
			this.#isFeeding = false;
		}
	}

	async #give(bytes: Uint8Array): Promise<void> {
		const origin = { stream: this.#stream, position: this.#position };
		const { next } = await offer(this.#session, { kind: "write", bytes }, { origin, until: "accepted" });
		this.#position = next;
	}
}
