/**
 * The input of one attachment, kept until the program has it, across connections.
 *
 * Every byte and every action has one position in the stream. The first send fixes a position; it means the same byte
 * on every connection. So resending from where the server wants to continue neither repeats nor drops anything.
 */

import { HawserError } from "../errors.ts";

/** Actions other than writing. Each takes one unit of the stream. */
export type Action =
	| { readonly type: "resize"; readonly cols: number; readonly rows: number }
	| { readonly type: "signal"; readonly signal: string; readonly urgent?: boolean }
	| { readonly type: "eof" };

export type Input = Uint8Array | Action;

/** Input to send, and its position. */
export type InputChunk =
	| { readonly position: number; readonly bytes: Uint8Array }
	| { readonly position: number; readonly act: Action };

/** Called once with the outcome of an input. */
type Settle = (error?: unknown) => void;

/** Bytes per frame. Small, so that progress is visible and a lost connection costs little. */
const PIECE_BYTES = 32 * 1024;

type QueuedInput = {
	position: number;
	readonly units: number;
	readonly input: Input;
	/** Undefined for the first part of a split input; `isRest` marks the second. */
	readonly settle: Settle | undefined;
	readonly isRest?: true;
};

export class Outbox {
	/** Everything from `#written` on, in order and without gaps. */
	#entries: QueuedInput[] = [];
	#end = 0;
	#written = 0;
	/** End of what was ever sent. */
	#sentOnce = 0;
	/** Position to send next, and the entry that contains it. */
	#sent = 0;
	#index = 0;
	/** End of the server's window; zero without a connection. */
	#limit = 0;
	#window = 0;

	/** End of what was sent on this connection. */
	get sent(): number {
		return this.#sent;
	}

	/** Appends an input. Calls `settle` when the program has all of it. */
	add(input: Input, settle: Settle): void {
		const units = unitsOf(input);
		if (units === 0) {
			settle();
			return;
		}
		if (!(input instanceof Uint8Array) && input.type === "signal" && input.urgent) {
			this.#insert({ position: this.#sentOnce, units, input, settle });
			return;
		}
		this.#entries.push({ position: this.#end, units, input, settle });
		this.#end += units;
	}

	/** Removes an input if none of it was sent; returns whether it did. */
	cancel(settle: Settle): boolean {
		const at = this.#entries.findIndex((entry) => entry.settle === settle);
		const entry = this.#entries[at];
		if (!entry || entry.position < this.#sentOnce || entry.isRest) return false;
		this.#entries.splice(at, 1);
		this.#renumber(at, entry.position);
		return true;
	}

	/** Starts a connection: everything that the server has not accepted will be sent again. */
	open(input: { readonly next: number; readonly written: number; readonly window: number }): void {
		if (input.next < this.#written || input.next > this.#sentOnce) {
			throw new HawserError(
				"internal",
				`protocol error: input position ${input.next} is not between ${this.#written} and ${this.#sentOnce}`,
			);
		}
		this.#window = input.window;
		this.receipt(input);
		this.rewind(input.next);
	}

	/** Stops sending until the next connection. */
	close(): void {
		this.#limit = 0;
	}

	/** Records how far the program has taken the input. */
	receipt({ written }: { readonly written: number }): void {
		this.#written = Math.max(this.#written, Math.min(written, this.#sentOnce));
		this.#limit = this.#written + this.#window;
		let done = 0;
		for (const entry of this.#entries) {
			if (entry.position + entry.units > this.#written) break;
			entry.settle?.();
			done++;
		}
		this.#entries.splice(0, done);
		this.#index = Math.max(0, this.#index - done);
		this.#sent = Math.max(this.#sent, this.#written);
	}

	/** Continues from the position that the server requests. */
	rewind(position: number): void {
		this.#sent = Math.max(this.#written, Math.min(position, this.#sentOnce));
		this.#index = this.#entries.findIndex((entry) => entry.position + entry.units > this.#sent);
		if (this.#index < 0) this.#index = this.#entries.length;
	}

	/** The next chunk to send on this connection; undefined if there is none. */
	take(): InputChunk | undefined {
		const entry = this.#entries[this.#index];
		if (!entry || this.#limit === 0) return undefined;
		const { input } = entry;
		const position = this.#sent;
		const room = this.#limit - position;
		if (!(input instanceof Uint8Array)) {
			// An urgent signal is meant for a program that does not read, so the window does not apply. It takes no memory.
			if (room <= 0 && !isUrgent(input)) return undefined;
			this.#move(entry, 1);
			return { position, act: input };
		}
		if (room <= 0) return undefined;
		const from = position - entry.position;
		const bytes = input.subarray(from, from + Math.min(room, PIECE_BYTES));
		this.#move(entry, bytes.byteLength);
		return { position, bytes };
	}

	/** The server refused the entry at this position and everything after it. Positions start again here. */
	refuse(position: number, error: unknown): void {
		const kept: QueuedInput[] = [];
		const refused: QueuedInput[] = [];
		for (const entry of this.#entries) {
			const length = position - entry.position;
			if (length < entry.units) refused.push(entry);
			if (length >= entry.units) kept.push(entry);
			else if (length > 0 && entry.input instanceof Uint8Array) {
				kept.push({ ...entry, units: length, input: entry.input.subarray(0, length), settle: undefined });
			}
		}
		this.#entries = kept;
		this.#end = Math.max(position, this.#written);
		this.#sentOnce = Math.min(this.#sentOnce, this.#end);
		this.rewind(this.#end);
		for (const { settle } of refused) settle?.(error);
	}

	/** Fails all remaining input. */
	fail(error: unknown): void {
		const entries = this.#entries;
		this.#entries = [];
		this.#index = 0;
		this.#end = this.#sentOnce;
		for (const entry of entries) entry.settle?.(error);
	}

	#move(entry: QueuedInput, units: number): void {
		this.#sent += units;
		this.#sentOnce = Math.max(this.#sentOnce, this.#sent);
		if (this.#sent >= entry.position + entry.units) this.#index++;
	}

	/** Inserts an entry before everything whose position is not fixed, splitting an input if necessary. */
	#insert(entry: QueuedInput): void {
		let at = this.#entries.findIndex(({ position, units }) => position + units > this.#sentOnce);
		if (at < 0) at = this.#entries.length;
		const split = this.#entries[at];
		if (split && split.position < this.#sentOnce && split.input instanceof Uint8Array) {
			const length = this.#sentOnce - split.position;
			const [first, rest] = [split.input.subarray(0, length), split.input.subarray(length)];
			this.#entries.splice(
				at,
				1,
				{ position: split.position, units: length, input: first, settle: undefined },
				{ position: this.#sentOnce, units: rest.byteLength, input: rest, settle: split.settle, isRest: true },
			);
			at++;
		}
		this.#entries.splice(at, 0, entry);
		this.#renumber(at, entry.position);
		this.rewind(this.#sent);
	}

	#renumber(from: number, position: number): void {
		this.#end = position;
		for (const entry of this.#entries.slice(from)) {
			entry.position = this.#end;
			this.#end += entry.units;
		}
	}
}

function unitsOf(input: Input): number {
	return input instanceof Uint8Array ? input.byteLength : 1;
}

function isUrgent(act: Action): boolean {
	return act.type === "signal" && act.urgent === true;
}

const STREAM_ID_BYTES = 16;

/** A unique name for an input stream. Not `randomUUID`, which browsers lack on pages without TLS. */
export function newStreamId(): string {
	const bytes = globalThis.crypto.getRandomValues(new Uint8Array(STREAM_ID_BYTES));
	return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
