/**
 * The input of one process: applies writes in order, and each write id once, so that retries after a lost connection
 * are safe.
 */

import { randomUUID } from "node:crypto";
import { Change } from "../../../../core/async/change.ts";
import { SessionError } from "../../../../core/errors.ts";
import { unlessNotApproved } from "../../../../core/policy/not-approved.ts";
import { sendInParts } from "../../../../core/session/send-input.ts";
import type { Session } from "../../../../core/session/session.ts";
import type { ExecLimits } from "../limits.ts";

export class Stdin {
	/**
	 * Name of our stream in the core's ledger. Random, because bytes written by another client to the same stream would
	 * be taken for ours.
	 */
	readonly #stream = randomUUID();
	readonly #session: Session;
	readonly #limits: ExecLimits;
	/** Ids of accepted writes, oldest first. */
	readonly #accepted = new Set<string>();
	/** Waiting writes, in order of arrival. */
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
	 * A write is accepted when it is queued and its id is remembered, both in the same turn. From then on it is applied
	 * even if the connection is lost. A write that still waits when the signal aborts is not applied.
	 */
	async write(id: string, bytes: Uint8Array, signal: AbortSignal): Promise<"accepted" | "stdinClosed"> {
		if (this.#accepted.has(id)) return "accepted";
		const place = {};
		this.#line.push(place);
		try {
			for (;;) {
				if (this.#isOver() || signal.aborted) return "stdinClosed";
				if (this.#line[0] === place) {
					// The same write may have arrived twice, and both copies waited.
					if (this.#accepted.has(id)) return "accepted";
					if (this.#hasRoom()) return this.#accept(id, bytes);
				}
				await this.#change.wait(signal);
			}
		} finally {
			this.#line.splice(this.#line.indexOf(place), 1);
			this.#change.happen();
		}
	}

	/** Refuses further writes and drops queued ones. */
	close(): void {
		this.#isClosed = true;
		this.#queue = [];
		this.#change.happen();
	}

	/** Accepts writes again. */
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
			// The program takes no more input; later writes are refused.
			this.close();
			if (!(error instanceof SessionError)) throw error;
		} finally {
			this.#isFeeding = false;
		}
	}

	async #give(bytes: Uint8Array): Promise<void> {
		const origin = { stream: this.#stream, position: this.#position };
		const { next } = await sendInParts(this.#session, { kind: "write", bytes }, { origin, until: "accepted" });
		this.#position = next;
	}
}
