/**
 * One process of a client: a core session, read once from its start, with numbered events.
 *
 * In one turn, each event gets its number, is stored and wakes waiting reads, so that reads and notifications see the
 * same log. While a connection is attached, the reader stays a limited number of bytes ahead of it, then the core
 * pauses the program. Without a connection the reader never waits.
 */

import { constants } from "node:os";
import { Change } from "../../../../core/async/change.ts";
import { nextWithin } from "../../../../core/async/changes-within.ts";
import { type Item, LOG_START } from "../../../../core/log/event.ts";
import { isNotApproved } from "../../../../core/policy/not-approved.ts";
import type { Session } from "../../../../core/session/session.ts";
import type { Exit } from "../../../../words/state.ts";
import { RpcError, rpcCodes } from "../../../json-rpc/errors.ts";
import type { ExecLimits } from "../limits.ts";
import { type ProcessEvent, ProcessEvents } from "./events.ts";
import { Stdin } from "./input.ts";
import { SandboxDenial } from "./sandbox-denial.ts";

/** Receives the events of a process as fast as its connection takes them. */
export interface ProcessEventSink {
	/** An event is ready for `take`. */
	happened(process: ExecProcess): void;
	/** The client read nothing for so long that the output can't wait any longer. */
	giveUp(): void;
}

export type WriteStatus = "accepted" | "stdinClosed" | "starting" | "unknownProcess";

export type ProcessOptions = {
	readonly session: Session;
	readonly isWritable: boolean;
	readonly isSandboxed: boolean;
	readonly limits: ExecLimits;
	/** Called once, after the last event. */
	readonly onClosed: () => void;
	readonly report: (problem: unknown) => void;
};

/** Position of a connection in the events. */
type Subscription = { readonly sink: ProcessEventSink; next: number; unsent: number };

/** Minimum weight of an event, so that a program that writes single bytes is slowed down too. */
const EVENT_BYTES = 64;
/** Reported when the exit code can't be known. */
const UNKNOWN_EXIT = -1;

export class ExecProcess {
	readonly id: string;
	readonly session: Session;
	readonly #options: ProcessOptions;
	readonly #stdin: Stdin;
	readonly events: ProcessEvents;
	/** Fires on each event, and when the process is forgotten. */
	readonly changed: Change = new Change();
	#subscription: Subscription | undefined;
	readonly #moved = new Change();
	#isTerminated = false;
	/** Looks for signs of a sandbox denial in the output. */
	readonly #denial: SandboxDenial | undefined;
	/** Exit of a sandboxed program, reported after all of its output was checked for a denial. */
	#heldExit: Exit | undefined;

	constructor(id: string, options: ProcessOptions) {
		this.id = id;
		this.#options = options;
		this.session = options.session;
		this.#stdin = new Stdin(options.session, options.limits);
		this.events = new ProcessEvents(options.limits);
		this.#denial = options.isSandboxed ? new SandboxDenial() : undefined;
		void this.#read();
	}

	get isRunning(): boolean {
		return this.session.state.status === "running";
	}

	/** Notifies of all events from number `from` on, which must still be kept. */
	watch(sink: ProcessEventSink, from: number): void {
		this.#subscription = { sink, next: from, unsent: 0 };
		for (let event = this.events.at(from); event; event = this.events.at(event.seq + 1)) this.#notify(event);
	}

	unwatch(): void {
		this.#subscription = undefined;
		this.#moved.happen();
	}

	/** The next event for this connection. */
	take(sink: ProcessEventSink): ProcessEvent | undefined {
		const subscription = this.#subscription;
		if (subscription?.sink !== sink) return undefined;
		const event = this.events.at(subscription.next);
		if (!event) return undefined;
		subscription.next++;
		subscription.unsent -= weight(event);
		this.#moved.happen();
		return event;
	}

	async write(id: string, bytes: Uint8Array, signal: AbortSignal): Promise<WriteStatus> {
		if (!this.#options.isWritable) return "stdinClosed";
		const status = await this.#stdin.write(id, bytes, signal);
		if (status === "stdinClosed" && this.#isTerminated)
			throw new RpcError(rpcCodes.internal, "failed to write to process stdin");
		return status;
	}

	async interrupt(): Promise<void> {
		if (!this.isRunning) return;
		await this.session.act({ kind: "signal", signal: "SIGINT", urgent: true });
	}

	/**
	 * Kills the program and its children; if the program has already ended, its children are left alone. If the kill is
	 * not approved, the program continues and takes input again.
	 */
	terminate(): boolean {
		if (!this.isRunning) return false;
		this.#isTerminated = true;
		this.#stdin.close();
		this.session.kill({ signal: "SIGKILL", graceMs: 0 }).catch((error: unknown) => {
			if (!isNotApproved(error)) return this.#options.report(error);
			this.#isTerminated = false;
			this.#stdin.reopen();
		});
		return true;
	}

	async #read(): Promise<void> {
		try {
			for await (const item of this.session.follow(LOG_START, { flow: "lossless" })) {
				this.#note(item);
				if (this.#isTooFarAhead()) await this.#room();
			}
		} catch (error) {
			this.#options.report(error);
		}
		// No event can follow, but clients need `closed`.
		if (!this.events.isClosed) this.#close();
	}

	#note(item: Item): void {
		const { chunkBytes } = this.#options.limits;
		switch (item.kind) {
			case "output":
				this.#denial?.note(item.stream, item.bytes);
				for (let from = 0; from < item.bytes.byteLength; from += chunkBytes)
					this.#happen(this.events.output(item.stream, item.bytes.subarray(from, from + chunkBytes)));
				break;
			case "exited":
				this.#stdin.close();
				// In a sandbox, its children ended too, so the output ends now.
				if (this.#denial) this.#heldExit = item.exit;
				else this.#happen(this.events.exited(exitCode(item.exit)));
				break;
			case "gap":
				this.#options.report(new Error(`invariant: ${item.to - item.from} bytes lost before they were read`));
				break;
			case "closed":
			case "lost":
				this.#close();
				break;
			case "resized":
		}
	}

	#close(): void {
		this.#stdin.close();
		const code = this.#heldExit ? exitCode(this.#heldExit) : UNKNOWN_EXIT;
		if (!this.events.hasExited) this.#happen(this.events.exited(code, this.#denial?.explains(code)));
		this.#happen(this.events.closed());
		this.#options.onClosed();
	}

	#happen(event: ProcessEvent): void {
		this.changed.happen();
		this.#notify(event);
	}

	#notify(event: ProcessEvent): void {
		if (!this.#subscription) return;
		this.#subscription.unsent += weight(event);
		this.#subscription.sink.happened(this);
	}

	#isTooFarAhead(): boolean {
		return (this.#subscription?.unsent ?? 0) > this.#options.limits.unsentBytes;
	}

	/**
	 * Waits until the connection catches up or detaches, but not forever: one more read moves the reader's position in
	 * the log.
	 */
	async #room(): Promise<void> {
		const { nudgeMs, maxUnsentBytes } = this.#options.limits;
		while (this.#isTooFarAhead()) {
			if (await nextWithin(this.#moved, nudgeMs)) continue;
			if ((this.#subscription?.unsent ?? 0) > maxUnsentBytes) this.#subscription?.sink.giveUp();
			return;
		}
	}
}

function weight(event: ProcessEvent): number {
	return event.kind === "output" ? Math.max(event.bytes.byteLength, EVENT_BYTES) : EVENT_BYTES;
}

/** As in shells: the code, or 128 plus the signal's number. */
function exitCode({ code, signal }: Exit): number {
	if (code !== null) return code;
	const number = constants.signals[signal as NodeJS.Signals];
	return number === undefined ? UNKNOWN_EXIT : 128 + number;
}
