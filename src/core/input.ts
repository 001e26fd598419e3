/**
 * Everything that is done to a process, in one order, each byte and each act exactly once.
 *
 * A client numbers the bytes of its input stream; the ledger knows for every stream which position
 * it wants next. So a repeated part is recognised and dropped, an overlap is trimmed, and a hole is
 * refused, whatever a lost connection made the client send again.
 */

import type { Act, Origin, Receipt } from "./act.ts";
import { Change } from "./change.ts";
import type { Clock } from "./clock.ts";
import { SessionError } from "./errors.ts";
import { InputLedger, type InputStream } from "./ledger.ts";

/** How far a stream may be ahead of what the kernel took: the credit window. */
export const INPUT_WINDOW_BYTES: number = 128 * 1024;
/** What may wait over all streams together, in bytes and in acts; at either bound nothing is accepted until the program reads. */
const QUEUE_BYTES = 1024 * 1024;
const QUEUE_ACTS = 10_000;
/** Of the newest acts of a stream it is known where the output ended before them: of one that is repeated, with all its parts. */
const REMEMBERED_PLACES = 4;
/** Writes are handed over in pieces, so that receipts show progress on a large one. */
const PIECE_BYTES = 16 * 1024;

export type InputQueueOptions = {
	/** Carries out one act; resolves when it is done, rejects or throws when it can't be. */
	readonly perform: (act: Act) => Promise<void> | void;
	readonly clock: Clock;
	/** Hears of anything that ended the input but the end of the program. */
	readonly onFailure?: ((error: unknown) => void) | undefined;
};

type Entry = { readonly stream: InputStream; readonly act: Act | undefined; readonly units: number };

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

	/** Units taken so far, of all streams: it does not grow by what is repeated, or does not fit. */
	get accepted(): number {
		return this.#accepted;
	}

	/** Whether something was accepted that the kernel has not taken yet. */
	get isWaiting(): boolean {
		return this.#queuedUnits > 0;
	}

	/** Resolves when as many of the units that were accepted are done, or none will be any more: nobody needs their bytes. */
	async taken(units: number): Promise<void> {
		while (this.#accepted - this.#queuedUnits < units && !this.#isClosed) await this.#change.next();
	}

	/** Whether all that was accepted is done. */
	get isIdle(): boolean {
		return !this.#isRunning;
	}

	/** Takes what is new of an act and fits the window; the receipt says how far that was. `from` is where the output ends now. */
	accept(act: Act, origin?: Origin, from?: number): Receipt {
		if (this.#isClosed) throw new SessionError("session_closed", "the program takes no more input");
		const position = origin?.position ?? 0;
		if (origin) checkPosition(origin, this.#ledger.find(origin.stream).next);
		const stream = origin ? this.#ledger.use(origin.stream) : { next: 0, written: 0 };

		const before = stream.next;
		const isNew = position + unitsOf(act) > stream.next;
		if (act.kind === "write") {
			const room = this.#roomFor(stream);
			if (isNew && room > 0) this.#enqueueBytes(stream, act.bytes.subarray(stream.next - position).subarray(0, room));
		} else if (isNew) {
			this.#enqueueAct(stream, act);
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

	/** A stream's receipt, and again when it has changed; until nothing will be written any more. */
	async *receipts(name: string, signal?: AbortSignal): AsyncGenerator<Receipt, void, void> {
		const { stream, detach } = this.#ledger.attach(name);
		try {
			for (let last: Receipt | undefined; !signal?.aborted; ) {
				const receipt = this.#receiptOf(stream);
				if (!last || isNews(receipt, last)) {
					last = receipt;
					yield receipt;
				} else if (this.#isClosed) return;
				else await this.#change.next(signal);
			}
		} finally {
			detach();
		}
	}

	forget(name: string): void {
		this.#ledger.forget(name);
	}

	/** The program is gone: what still waits is dropped, and `written` shows it. */
	close(): void {
		this.#isClosed = true;
		this.#queue = [];
		this.#change.happen();
	}

	#receiptOf(stream: InputStream): Receipt {
		return { next: stream.next, written: stream.written, room: this.#roomFor(stream) };
	}

	/** How many bytes of a stream would be accepted now. Other acts may go beyond the bytes' bounds. */
	#roomFor(stream: InputStream): number {
		if (this.#isClosed || this.#queue.length >= QUEUE_ACTS) return 0;
		const room = Math.min(INPUT_WINDOW_BYTES - (stream.next - stream.written), QUEUE_BYTES - this.#queuedUnits);
		return Math.max(0, room);
	}

	#enqueueBytes(stream: InputStream, bytes: Uint8Array): void {
		for (let from = 0; from < bytes.byteLength; from += PIECE_BYTES) {
			const piece = bytes.subarray(from, from + PIECE_BYTES);
			this.#enqueue({ stream, act: { kind: "write", bytes: piece }, units: piece.byteLength });
		}
	}

	/** An act other than a write can't be taken in part, so it is accepted or refused, never left out silently. */
	#enqueueAct(stream: InputStream, act: Act): void {
		if (this.#queue.length >= QUEUE_ACTS) {
			throw new SessionError("limit_exceeded", "too much input is waiting for the program to read");
		}
		if (act.kind === "signal" && act.urgent === true) {
			this.#overtake(act);
			// Its unit of the stream stays in line, so that `written` never counts past a hole, and counts in the bound.
			this.#enqueue({ stream, act: undefined, units: 1 });
		} else {
			this.#enqueue({ stream, act, units: 1 });
		}
	}

	/** Does an act before everything that waits. When it can't be done it is refused: nothing was taken of it then. */
	#overtake(act: Act): void {
		const done = this.#options.perform(act);
		if (done !== undefined) done.catch((error: unknown) => this.#goesOnAfter(act, error));
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
				// Acts that need no waiting are done in the same turn, so that a key press is not delayed by one.
				const done = entry.act && this.#options.perform(entry.act);
				if (done !== undefined) await done;
			} catch (error) {
				if (!this.#goesOnAfter(entry.act, error)) break;
			}
			entry.stream.written += entry.units;
			this.#queuedUnits -= entry.units;
			this.#change.happen();
		}
		this.#isRunning = false;
	}

	#goesOnAfter(act: Act | undefined, error: unknown): boolean {
		if (isHarmless(act, error)) return true;
		// The process takes no more; who asked learns it from the log and from receipts that stop growing.
		if (!(error instanceof SessionError)) this.#options.onFailure?.(error);
		this.close();
		return false;
	}
}

/** A signal that may not be sent, to a program that runs as another user, says nothing about the input around it. */
function isHarmless(act: Act | undefined, error: unknown): boolean {
	return act?.kind === "signal" && error instanceof SessionError && error.code !== "session_closed";
}

/** Whether somebody who knows one receipt should hear of another: that there is less room, they notice themselves. */
function isNews(receipt: Receipt, known: Receipt): boolean {
	const isMore = receipt.next !== known.next || receipt.written !== known.written;
	return isMore || (known.room === 0 && receipt.room > 0);
}

/** What an act takes of its stream. */
export function unitsOf(act: Act): number {
	return act.kind === "write" ? act.bytes.byteLength : 1;
}

function checkPosition({ stream, position }: Origin, next: number): void {
	if (position <= next) return;
	if (next === 0) {
		throw new SessionError(
			"invalid_argument",
			`input stream "${stream}" is not known here: it has not begun, or was unused for so long that it is forgotten`,
			{ hint: "begin a new stream at position 0" },
		);
	}
	throw new SessionError(
		"invalid_argument",
		`input stream "${stream}" continues at position ${next}, not at ${position}`,
		{ hint: `send again from position ${next}` },
	);
}
