/**
 * Everything that is done to a process, in one order, each byte and each act exactly once.
 *
 * A client numbers the bytes of its input stream; the ledger knows for every stream which position
 * it wants next. So a repeated part is recognised and dropped, an overlap is trimmed, and a hole is
 * refused, whatever a lost connection made the client send again.
 */

import { Change } from "./change.ts";
import { SessionError } from "./errors.ts";
import type { Act, Origin, Receipt } from "./session.ts";

/** How far a stream may be ahead of what the kernel took: the credit window. */
export const INPUT_WINDOW_BYTES: number = 128 * 1024;
/** What may wait over all streams together, in bytes and in acts; at either bound nothing is accepted until the program reads. */
const QUEUE_BYTES = 1024 * 1024;
const QUEUE_ACTS = 10_000;
/** How many streams are remembered; the one unused for longest is forgotten. Codex remembers as many write ids. */
const MAX_STREAMS = 4096;
/** Writes are handed over in pieces, so that receipts show progress on a large one. */
const PIECE_BYTES = 16 * 1024;

type InputStream = { next: number; written: number };
type Entry = { readonly stream: InputStream; readonly act: Act | undefined; readonly units: number };

export class InputQueue {
	/** Carries out one act; resolves when it is done, rejects when nothing can be done any more. */
	readonly #perform: (act: Act) => Promise<void> | void;
	readonly #onFailure: (error: unknown) => void;
	/** In the order of last use. */
	readonly #streams = new Map<string, InputStream>();
	#queue: Entry[] = [];
	#queuedUnits = 0;
	#isRunning = false;
	#isClosed = false;
	readonly #change = new Change();

	/** `onFailure` hears of anything that ended the input but the end of the program. */
	constructor(perform: (act: Act) => Promise<void> | void, onFailure: (error: unknown) => void = () => {}) {
		this.#perform = perform;
		this.#onFailure = onFailure;
	}

	/** Takes what is new of an act and fits the window; the receipt says how far that was. */
	accept(act: Act, origin?: Origin): Receipt {
		if (this.#isClosed) throw new SessionError("session_closed", "the program takes no more input");
		const stream = origin ? this.#stream(origin.stream) : { next: 0, written: 0 };
		const position = origin?.position ?? 0;
		if (origin && position > stream.next) throw hole(origin, stream.next);

		const isNew = position + unitsOf(act) > stream.next;
		if (act.kind === "write") {
			const room = this.#roomFor(stream);
			if (isNew && room > 0) this.#enqueueBytes(stream, act.bytes.subarray(stream.next - position).subarray(0, room));
		} else if (isNew) {
			this.#enqueueAct(stream, act);
		}
		this.#run();
		return receiptOf(stream);
	}

	/** Resolves once `written` of the stream has passed `after`, or nothing will be written any more. */
	async receipt(name: string, after: number, signal?: AbortSignal): Promise<Receipt> {
		for (;;) {
			const stream = this.#streams.get(name) ?? { next: 0, written: 0 };
			if (stream.written > after || this.#isClosed || signal?.aborted) return receiptOf(stream);
			await this.#change.next(signal);
		}
	}

	/** The program is gone: what still waits is dropped, and `written` shows it. */
	close(): void {
		this.#isClosed = true;
		this.#queue = [];
		this.#change.happen();
	}

	#roomFor(stream: InputStream): number {
		if (this.#queue.length >= QUEUE_ACTS) return 0;
		return Math.min(INPUT_WINDOW_BYTES - (stream.next - stream.written), QUEUE_BYTES - this.#queuedUnits);
	}

	#enqueueBytes(stream: InputStream, bytes: Uint8Array): void {
		for (let from = 0; from < bytes.byteLength; from += PIECE_BYTES) {
			const piece = bytes.subarray(from, from + PIECE_BYTES);
			this.#enqueue({ stream, act: { kind: "write", bytes: piece }, units: piece.byteLength });
		}
	}

	/** An act other than a write can't be taken in part, so it is accepted or refused, never left out silently. */
	#enqueueAct(stream: InputStream, act: Act): void {
		if (act.kind === "signal" && act.urgent === true) {
			// It overtakes what waits, but its unit of the stream stays in line, so that `written` never counts past a hole.
			void this.#perform(act);
			this.#enqueue({ stream, act: undefined, units: 1 });
			return;
		}
		if (this.#queue.length >= QUEUE_ACTS) {
			throw new SessionError("limit_exceeded", "too much input is waiting for the program to read");
		}
		this.#enqueue({ stream, act, units: 1 });
	}

	#enqueue(entry: Entry): void {
		this.#queue.push(entry);
		this.#queuedUnits += entry.units;
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
				const done = entry.act && this.#perform(entry.act);
				if (done !== undefined) await done;
			} catch (error) {
				if (!isHarmless(entry.act, error)) {
					// The process takes no more; who asked learns it from the log and from receipts that stop growing.
					if (!(error instanceof SessionError)) this.#onFailure(error);
					this.close();
					break;
				}
			}
			entry.stream.written += entry.units;
			this.#queuedUnits -= entry.units;
			this.#change.happen();
		}
		this.#isRunning = false;
	}

	#stream(name: string): InputStream {
		const stream = this.#streams.get(name) ?? { next: 0, written: 0 };
		this.#streams.delete(name);
		this.#streams.set(name, stream);
		if (this.#streams.size > MAX_STREAMS) {
			const [oldest] = this.#streams.keys();
			if (oldest !== undefined) this.#streams.delete(oldest);
		}
		return stream;
	}
}

/** A signal that may not be sent, to a program that runs as another user, says nothing about the input around it. */
function isHarmless(act: Act | undefined, error: unknown): boolean {
	return act?.kind === "signal" && error instanceof SessionError && error.code !== "session_closed";
}

function unitsOf(act: Act): number {
	return act.kind === "write" ? act.bytes.byteLength : 1;
}

function receiptOf(stream: InputStream): Receipt {
	return { next: stream.next, written: stream.written };
}

function hole(origin: Origin, wanted: number): SessionError {
	return new SessionError(
		"invalid_argument",
		`input stream "${origin.stream}" continues at position ${wanted}, not at ${origin.position}`,
		{ hint: `send again from position ${wanted}` },
	);
}
