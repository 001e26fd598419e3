/** The part of a client that outlives its connection: its processes, for as long as it may reconnect. */

import { RpcError } from "../../json-rpc/errors.ts";
import type { ProcessEventSink } from "./processes/process.ts";
import { ExecProcesses, type ProcessesOptions } from "./processes/processes.ts";

/** The session has another connection. The client retries soon (contract §1.5). */
const STILL_ATTACHED = -32010;

/** A connection, as seen by its session. */
export type Attachment = {
	readonly sink: ProcessEventSink;
	/** Another client wants the session: closes this connection if its peer no longer responds. */
	probe(): void;
};

type ExecSessionOptions = ProcessesOptions & {
	readonly id: string;
	/** Account of the client. Others can't resume the session. */
	readonly owner: string;
	/** Called when the client disconnects and when it reconnects. */
	readonly onWaiting: (isWaiting: boolean) => void;
	/** Called when the time to reconnect is over. */
	readonly onExpired: () => void;
};

export class ClientSession {
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
			// The client retries soon (contract §2.1). By then the probe has shown whether the old connection is alive.
			this.#attachment.probe();
			const message = `session ${this.id} is already attached to another connection`;
			throw new RpcError(STILL_ATTACHED, message);
		}
		clearTimeout(this.#expiry);
		this.#attachment = attachment;
		this.#options.onWaiting(false);
		this.processes.attach(attachment.sink);
	}

	isAttachedTo(attachment: Attachment): boolean {
		return this.#attachment === attachment;
	}

	/** The processes continue without notifications. */
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
