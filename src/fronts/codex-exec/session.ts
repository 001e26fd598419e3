/** What of a client outlives its connection: its processes, for as long as it may take to come back. */

import { RpcError } from "../json-rpc/error.ts";
import type { Watcher } from "./processes/process.ts";
import { ExecProcesses, type ProcessesOptions } from "./processes/processes.ts";

/** For a session that another connection has; the client asks again soon (contract §1.5). */
const STILL_ATTACHED = -32010;

/** A connection as its session sees it. */
export type Attachment = {
	readonly watcher: Watcher;
	/** Somebody else wants the session: ends the connection if nobody is there any more. */
	probe(): void;
};

type ExecSessionOptions = ProcessesOptions & {
	readonly id: string;
	/** Whose it is; nobody else can come back to it. */
	readonly owner: string;
	/** Called when its client is gone, and when it has come back. */
	readonly onWaiting: (isWaiting: boolean) => void;
	/** Called when its time is over. */
	readonly onExpired: () => void;
};

export class ExecSession {
	readonly id: string;
	readonly owner: string;
	readonly processes: ExecProcesses;
	readonly #options: ExecSessionOptions;
	#attachment: Attachment | undefined;
	#expiry: NodeJS.Timeout | undefined;

	constructor(options: ExecSessionOptions) {
		this.id = options.id;
		this.owner = options.owner;
		this.#options = options;
		this.processes = new ExecProcesses(options);
	}

	attach(attachment: Attachment): void {
		if (this.#attachment) {
			// The client asks again soon (contract §2.1), and by then it is known whether anybody is there.
			this.#attachment.probe();
			const message = `session ${this.id} is already attached to another connection`;
			throw new RpcError(STILL_ATTACHED, message);
		}
		clearTimeout(this.#expiry);
		this.#attachment = attachment;
		this.#options.onWaiting(false);
		this.processes.attach(attachment.watcher);
	}

	isAttachedTo(attachment: Attachment): boolean {
		return this.#attachment === attachment;
	}

	/** The processes go on, and nobody is told of it. */
	detach(attachment: Attachment): void {
		if (!this.isAttachedTo(attachment)) return;
		this.#attachment = undefined;
		this.processes.detach();
		this.#expiry = setTimeout(this.#options.onExpired, this.#options.limits.detachedMs).unref();
		this.#options.onWaiting(true);
	}

	async end(): Promise<void> {
		clearTimeout(this.#expiry);
		await this.processes.end();
	}
}
