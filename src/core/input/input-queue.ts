/**
 * The input queue of a session: applies writes, resizes and signals in one order, exactly once.
 *
 * Clients number the bytes of their input streams. The ledger stores the next expected position of each stream, so that
 * a retry after a lost connection is safe: duplicates are dropped, overlaps trimmed, gaps refused.
 */

import { Change } from "../async/change.ts";
import type { Clock } from "../async/clock.ts";
import { SessionError } from "../errors.ts";
import type { Action, Exact, Receipt, StreamPosition } from "./action.ts";
import { InputLedger, type InputStream } from "./input-ledger.ts";

/**
 * The credit window: how far a stream may be ahead of what the kernel took.
 * @limit input of one stream beyond what the kernel took | the rest is not accepted yet; `next` says how far it got
 */
export const INPUT_WINDOW_BYTES: number = 128 * 1024;
/**
 * Queue limits over all streams. When one is reached, input is refused until the program reads.
 * @limit waiting input of all streams of a session | the same; an indivisible action is `limit_exceeded`
 */
const QUEUE_BYTES = 1024 * 1024;
/** @limit waiting actions of all streams of a session | the same */
const QUEUE_ACTIONS = 10_000;
/**
 * For this many recent actions per stream the output offset is remembered, so a repeated action gets the same answer.
 * @limit recent actions of a stream with a known output offset | a repeat of an older one gets the offset of the
 * oldest
 */
const REMEMBERED_PLACES = 4;
/** Writes are split into pieces, so that receipts show the progress of a large one. */
const PIECE_BYTES = 16 * 1024;

export type InputQueueOptions = {
	/** Performs one action. Resolves when it is done; rejects or throws when it can't be done. */
	readonly perform: (action: Action) => Promise<void> | void;
	readonly clock: Clock;
	/** Called when input fails for any reason other than the program's exit. */
	readonly onFailure?: ((error: unknown) => void) | undefined;
};

type Acceptance = {
	readonly exact?: Exact | undefined;
	/** The current end of the output. */
	readonly from?: number;
};

type Entry = { readonly stream: InputStream; readonly action: Action | undefined; readonly units: number };

export class InputQueue {
	readonly #options: InputQueueOptions;
	readonly #ledger: InputLedger;
	#queue: Entry[] = [];
	#queuedUnits = 0;
	#accepted = 0;
	#isRunning = false;
	#isClosed = false;
	readonly #change = new Change();

	constructor(options: InputQueueOptions) {
		this.#options = options;
		this.#ledger = new InputLedger(options.clock);
	}

	/** Units accepted so far over all streams. Repeats, and what does not fit, do not count. */
	get accepted(): number {
		return this.#accepted;
	}

	/** Whether accepted input waits for the kernel to take it. */
	get isWaiting(): boolean {
		return this.#queuedUnits > 0;
	}

	/** Resolves when this many accepted units are done, when no more will be, or when the signal aborts. */
	async taken(units: number, signal?: AbortSignal): Promise<void> {
		while (this.#accepted - this.#queuedUnits < units && !this.#isClosed && !signal?.aborted) {
			await this.#change.wait(signal);
		}
	}

	/** Whether all accepted input is done. */
	get isIdle(): boolean {
		return !this.#isRunning;
	}

	/** Accepts the part of an action that is new and fits the window. The receipt says how far that is. */
	accept(action: Action, origin?: StreamPosition, { exact, from }: Acceptance = {}): Receipt {
		if (this.#isClosed) throw new SessionError("session_closed", "the program takes no more input");
		const position = origin?.position ?? 0;
		if (origin) checkPosition(origin, this.#ledger.find(origin.stream).next);
		if (exact) this.#checkExact(action, origin, exact);
		const stream = origin ? this.#ledger.use(origin.stream) : { next: 0, written: 0 };

		const before = stream.next;
		const isNew = position + unitsOf(action) > stream.next;
		if (action.kind === "write") {
			const room = this.#roomFor(stream);
			if (isNew && room > 0)
				this.#enqueueBytes(stream, action.bytes.subarray(stream.next - position).subarray(0, room));
		} else if (isNew) {
			this.#enqueueAction(stream, action);
		}
		if (from !== undefined && stream.next > before) {
			stream.places = [...(stream.places ?? []).slice(1 - REMEMBERED_PLACES), { position, from }];
		}
		this.#run();
		const place = stream.places?.find((one) => one.position === position) ?? stream.places?.[0];
		return { ...this.#receiptOf(stream), ...(place ? { from: place.from } : {}) };
	}

	receipt(name: string): Receipt {
		return this.#receiptOf(this.#ledger.find(name));
	}

	/** Yields a stream's receipt, and again after each change, until no more input will be written. */
	async *receipts(name: string, signal?: AbortSignal): AsyncGenerator<Receipt, void, void> {
		const { stream, detach } = this.#ledger.attach(name);
		try {
			for (let last: Receipt | undefined; !signal?.aborted; ) {
				const receipt = this.#receiptOf(stream);
				if (!last || isNews(receipt, last)) {
					last = receipt;
					yield receipt;
				} else if (this.#isClosed) return;
				else await this.#change.wait(signal);
			}
		} finally {
			detach();
		}
	}

	forget(name: string): void {
		this.#ledger.forget(name);
	}

	/** Called when the program is gone. Input that still waits is dropped, and `written` shows it. */
	close(): void {
		this.#isClosed = true;
		this.#queue = [];
		this.#change.happen();
	}

	#receiptOf(stream: InputStream): Receipt {
		return { next: stream.next, written: stream.written, room: this.#roomFor(stream) };
	}

	#checkExact(action: Action, origin: StreamPosition | undefined, { from, isWhole }: Exact): void {
		const known = origin ? this.#ledger.find(origin.stream) : { next: 0, written: 0 };
		const end = (origin?.position ?? 0) + unitsOf(action);
		if (end <= known.next) return;
		if (known.next !== from) throw streamMoved(origin, known.next, from);
		if (isWhole && action.kind === "write" && end - from > this.#roomFor(known)) throw tooMuchWaits();
	}

	/** Bytes of a stream that would be accepted now. Other actions may exceed the limits in bytes. */
	#roomFor(stream: InputStream): number {
		if (this.#isClosed || this.#queue.length >= QUEUE_ACTIONS) return 0;
		const room = Math.min(INPUT_WINDOW_BYTES - (stream.next - stream.written), QUEUE_BYTES - this.#queuedUnits);
		return Math.max(0, room);
	}

	#enqueueBytes(stream: InputStream, bytes: Uint8Array): void {
		for (let from = 0; from < bytes.byteLength; from += PIECE_BYTES) {
			const piece = bytes.subarray(from, from + PIECE_BYTES);
			this.#enqueue({ stream, action: { kind: "write", bytes: piece }, units: piece.byteLength });
		}
	}

	/** Accepts or refuses an action other than a write: it can't be taken in part, and is never dropped silently. */
	#enqueueAction(stream: InputStream, action: Action): void {
		if (this.#queue.length >= QUEUE_ACTIONS) throw tooMuchWaits();
		if (action.kind === "signal" && action.urgent === true) {
			this.#overtake(action);
			// Its unit of the stream stays queued, so that `written` never counts past a gap and the limit still holds.
			this.#enqueue({ stream, action: undefined, units: 1 });
		} else {
			this.#enqueue({ stream, action, units: 1 });
		}
	}

	/** Performs an action before everything that waits. If that throws, the action is refused and nothing was queued. */
	#overtake(action: Action): void {
		const done = this.#options.perform(action);
		if (done !== undefined) done.catch((error: unknown) => this.#continuesAfter(action, error));
	}

	#enqueue(entry: Entry): void {
		this.#queue.push(entry);
		this.#queuedUnits += entry.units;
		this.#accepted += entry.units;
		entry.stream.next += entry.units;
	}

	#run(): void {
		if (this.#isRunning || this.#queue.length === 0) return;
		this.#isRunning = true;
		void this.#drain();
	}

	async #drain(): Promise<void> {
		for (let entry = this.#queue.shift(); entry; entry = this.#queue.shift()) {
			try {
				// Actions that finish at once stay in this turn, so that a key press is not delayed by a turn.
				const done = entry.action && this.#options.perform(entry.action);
				if (done !== undefined) await done;
			} catch (error) {
				if (!this.#continuesAfter(entry.action, error)) break;
			}
			entry.stream.written += entry.units;
			this.#queuedUnits -= entry.units;
			this.#change.happen();
		}
		this.#isRunning = false;
	}

	#continuesAfter(action: Action | undefined, error: unknown): boolean {
		if (isHarmless(action, error)) return true;
		// The process takes no more input. Callers see it in the log and in receipts that no longer advance.
		if (!(error instanceof SessionError)) this.#options.onFailure?.(error);
		this.close();
		return false;
	}
}

/**
 * Whether only a signal was refused, for example because the program runs as another user. Other input is not affected.
 */
function isHarmless(action: Action | undefined, error: unknown): boolean {
	return action?.kind === "signal" && error instanceof SessionError && error.code !== "session_closed";
}

/** Whether a follower needs the new receipt. It counts a shrinking `room` itself. */
function isNews(receipt: Receipt, known: Receipt): boolean {
	const isMore = receipt.next !== known.next || receipt.written !== known.written;
	return isMore || (known.room === 0 && receipt.room > 0);
}

/** Units that an action takes of its stream. */
export function unitsOf(action: Action): number {
	return action.kind === "write" ? action.bytes.byteLength : 1;
}

function tooMuchWaits(): SessionError {
	return new SessionError("limit_exceeded", "too much input is waiting for the program to read", {
		hint: "send it again once the program has read some of it",
	});
}

/** The error for an action that was meant for another position of its stream. */
export function streamMoved(origin: StreamPosition | undefined, next: number, from: number): SessionError {
	const stream = JSON.stringify(origin?.stream ?? "");
	return new SessionError(
		"conflict",
		`input stream ${stream} is at position ${next}, not at ${from}; nothing was done`,
		{
			hint: "something else was sent on this stream meanwhile; send this again on a stream of its own",
		},
	);
}

function checkPosition({ stream, position }: StreamPosition, next: number): void {
	if (position <= next) return;
	if (next === 0) {
		throw new SessionError(
			"invalid_argument",
			`input stream "${stream}" is unknown: it has not begun, or it was unused for so long that it was forgotten`,
			{ hint: "begin a new stream at position 0" },
		);
	}
	throw new SessionError(
		"invalid_argument",
		`input stream "${stream}" continues at position ${next}, not at ${position}`,
		{ hint: `send again from position ${next}` },
	);
}
