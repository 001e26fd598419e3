/**
 * One process of a client: a core session, read once from its beginning and numbered as this wire does.
 *
 * Each event gets its number, is kept, and wakes who waits for it in one turn, so that reads and notifications
 * are two views of the same log. While a connection watches, the reader stays a little ahead of what that was
 * told and no more; the core then pauses the program. While nobody watches, nothing waits.
 */

import { constants } from "node:os";
import { Change } from "../../../core/change.ts";
import type { Exit, Item } from "../../../core/event.ts";
import type { Session } from "../../../core/session.ts";
import { changesWithin } from "../../changes-within.ts";
import { RpcError, rpcCodes } from "../../json-rpc/error.ts";
import { isNotApproved } from "../../not-approved.ts";
import type { ExecLimits } from "../limits.ts";
import { Denial } from "./denial.ts";
import { type ProcessEvent, Retained } from "./retained.ts";
import { Stdin } from "./stdin.ts";

/** Whoever wants to be told what happens, as fast as it takes it. */
export interface Watcher {
	/** There is something to `take`. */
	happened(process: ExecProcess): void;
	/** Nothing was taken for so long that the program can't be kept waiting. */
	giveUp(): void;
}

export type WriteStatus = "accepted" | "stdinClosed" | "starting" | "unknownProcess";

export type ProcessOptions = {
	readonly session: Session;
	readonly isWritable: boolean;
	readonly isSandboxed: boolean;
	readonly limits: ExecLimits;
	/** Called once, when no event can follow. */
	readonly onClosed: () => void;
	readonly report: (problem: unknown) => void;
};

/** How far a watcher has come. */
type Place = { readonly watcher: Watcher; next: number; untold: number };

/** What even the smallest event costs, so that a program that writes single bytes is held up as well. */
const EVENT_BYTES = 64;
/** When nobody can know how it ended. */
const UNKNOWN_EXIT = -1;

export class ExecProcess {
	readonly id: string;
	readonly session: Session;
	readonly #options: ProcessOptions;
	readonly #stdin: Stdin;
	readonly events: Retained;
	/** Something happened, or the process was forgotten. */
	readonly changed: Change = new Change();
	#place: Place | undefined;
	readonly #moved = new Change();
	#isTerminated = false;
	/** What its output says of its sandbox, if it has one. */
	readonly #denial: Denial | undefined;
	/** How a program in a sandbox ended; told when all of its output is known, which says why. */
	#heldExit: Exit | undefined;

	constructor(id: string, options: ProcessOptions) {
		this.id = id;
		this.#options = options;
		this.session = options.session;
		this.#stdin = new Stdin(options.session, options.limits);
		this.events = new Retained(options.limits);
		this.#denial = options.isSandboxed ? new Denial() : undefined;
		void this.#read();
	}

	get isRunning(): boolean {
		return this.session.state.status === "running";
	}

	/** Tells of every event from number `from` on, which must still be kept. */
	watch(watcher: Watcher, from: number): void {
		this.#place = { watcher, next: from, untold: 0 };
		for (let event = this.events.at(from); event; event = this.events.at(event.seq + 1)) this.#tell(event);
	}

	unwatch(): void {
		this.#place = undefined;
		this.#moved.happen();
	}

	/** The next event for the watcher. */
	take(watcher: Watcher): ProcessEvent | undefined {
		const place = this.#place;
		if (place?.watcher !== watcher) return undefined;
		const event = this.events.at(place.next);
		if (!event) return undefined;
		place.next++;
		place.untold -= weight(event);
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
	 * Ends the program and its children at once; of one that has ended by itself, its children are left alone. One whose
	 * end is not approved goes on, and takes input again.
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
			for await (const item of this.session.follow({ seq: 1 }, { flow: "lossless" })) {
				this.#note(item);
				if (this.#isTooFarAhead()) await this.#room();
			}
		} catch (error) {
			this.#options.report(error);
		}
		// Nobody will ever know more of it, and `closed` must come.
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
				// All that it started has ended with it, so that its output ends now.
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
		this.#tell(event);
	}

	#tell(event: ProcessEvent): void {
		if (!this.#place) return;
		this.#place.untold += weight(event);
		this.#place.watcher.happened(this);
	}

	#isTooFarAhead(): boolean {
		return (this.#place?.untold ?? 0) > this.#options.limits.untoldBytes;
	}

	/** Resolves when the watcher caught up or left; or, after a while, to take one more read, so that our hold on the log moves. */
	async #room(): Promise<void> {
		const { nudgeMs, mostUntoldBytes } = this.#options.limits;
		while (this.#isTooFarAhead()) {
			if (await changesWithin(this.#moved, nudgeMs)) continue;
			if ((this.#place?.untold ?? 0) > mostUntoldBytes) this.#place?.watcher.giveUp();
			return;
		}
	}
}

function weight(event: ProcessEvent): number {
	return event.kind === "output" ? Math.max(event.bytes.byteLength, EVENT_BYTES) : EVENT_BYTES;
}

/** As shells say it: the code, or 128 and the number of the signal. */
function exitCode({ code, signal }: Exit): number {
	if (code !== null) return code;
	const number = constants.signals[signal as NodeJS.Signals];
	return number === undefined ? UNKNOWN_EXIT : 128 + number;
}
