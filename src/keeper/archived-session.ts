/** A session whose process is gone for good: nothing but a log to read, and how it ended. */

import { follow } from "../core/cursor.ts";
import { SessionError } from "../core/errors.ts";
import type { Item, Mark, Start } from "../core/event.ts";
import type { Log } from "../core/log.ts";
import type { FollowOptions, Lease, Receipt, Session, SessionInfo, SessionSpec } from "../core/session.ts";
import type { State } from "../core/state.ts";

const NO_LEASE: Lease = { fence: 0, holder: null, exclusive: false };

export class ArchivedSession implements Session {
	readonly spec: SessionSpec;
	readonly state: State;
	readonly #openLog: () => Promise<Log>;
	#log: Promise<Log> | undefined;
	#attachments = 0;

	/** The log is opened when somebody wants to read it, so that any number of old sessions costs little. */
	constructor(spec: SessionSpec, state: State, openLog: () => Promise<Log>) {
		this.spec = spec;
		this.state = state;
		this.#openLog = openLog;
	}

	get id(): string {
		return this.spec.id;
	}

	/** It changes no more. */
	watch(): () => void {
		return () => {};
	}

	async info(): Promise<SessionInfo> {
		const log = await this.#opened();
		return {
			...this.spec,
			...this.state,
			pid: null,
			offsets: { oldest: log.oldest.offset, end: log.end.offset },
			attachments: this.#attachments,
			lease: NO_LEASE,
			terminal: null,
		};
	}

	async *follow(start: Start, options?: FollowOptions): AsyncGenerator<Item, void, void> {
		const log = await this.#opened();
		this.#attachments++;
		try {
			yield* follow(log, start, options);
		} finally {
			this.#attachments--;
		}
	}

	async end(): Promise<Mark> {
		return (await this.#opened()).end;
	}

	act(): Promise<Receipt> {
		return Promise.reject(this.over());
	}

	/** Nothing will be written any more, which is what a receipt waits for at the latest. */
	async receipt(): Promise<Receipt> {
		return { next: 0, written: 0 };
	}

	acquire(): Promise<Lease> {
		return Promise.reject(this.over());
	}

	async release(): Promise<Lease> {
		return NO_LEASE;
	}

	leaseChange(known: Lease, signal?: AbortSignal): Promise<Lease> {
		return new Promise((resolve) => {
			if (signal?.aborted) resolve(known);
			signal?.addEventListener("abort", () => resolve(known), { once: true });
		});
	}

	async kill(): Promise<void> {}

	#opened(): Promise<Log> {
		this.#log ??= this.#openLog();
		return this.#log;
	}

	/** What somebody is told who wants to act on it. */
	over(): SessionError {
		return new SessionError("session_closed", `session "${this.id}" has ended (${this.state.status})`);
	}
}
