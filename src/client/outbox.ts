/**
 * The input of one attachment, kept until the program's side took it, whatever happens to connections.
 *
 * Every byte and every act has one position in the stream. A position is fixed when it is sent for the
 * first time; from then on it stands for the same byte on every connection, so sending again from where
 * the server wants to go on repeats nothing and leaves nothing out.
 */

import { HawserError } from "./error.ts";

/** What is done to a program beside writing; each takes one unit of the stream. */
export type Act =
	| { readonly type: "resize"; readonly cols: number; readonly rows: number }
	| { readonly type: "signal"; readonly signal: string; readonly urgent?: boolean }
	| { readonly type: "eof" };

export type Input = Uint8Array | Act;

/** Something to send now, and where it stands. */
export type Piece =
	| { readonly position: number; readonly bytes: Uint8Array }
	| { readonly position: number; readonly act: Act };

/** Told once what became of an input. */
type Settle = (error?: unknown) => void;

/** How much input one frame carries at most: progress is seen, and a cut costs little. */
const PIECE_BYTES = 32 * 1024;

type Entry = {
	position: number;
	readonly units: number;
	readonly input: Input;
	/** Undefined for the first part of an input that was split, and `isRest` says which is the second. */
	readonly settle: Settle | undefined;
	readonly isRest?: true;
};

export class Outbox {
	/** Everything from `#written` on, in order and without holes. */
	#entries: Entry[] = [];
	#end = 0;
	#written = 0;
	/** The end of what was ever sent. */
	#fixed = 0;
	/** What goes out next, and the entry it is in. */
	#sent = 0;
	#index = 0;
	/** How far the server takes input; zero while there is none. */
	#limit = 0;
	#window = 0;

	/** The end of what was sent on this connection. */
	get sent(): number {
		return this.#sent;
	}

	/** Puts it at the end; `settle` is called when the program's side took all of it. */
	add(input: Input, settle: Settle): void {
		const units = unitsOf(input);
		if (units === 0) {
			settle();
			return;
		}
		if (!(input instanceof Uint8Array) && input.type === "signal" && input.urgent) {
			this.#insert({ position: this.#fixed, units, input, settle });
			return;
		}
		this.#entries.push({ position: this.#end, units, input, settle });
		this.#end += units;
	}

	/** Takes back an input of which nothing was sent yet; false when it is too late. */
	cancel(settle: Settle): boolean {
		const at = this.#entries.findIndex((entry) => entry.settle === settle);
		const entry = this.#entries[at];
		if (!entry || entry.position < this.#fixed || entry.isRest) return false;
		this.#entries.splice(at, 1);
		this.#renumber(at, entry.position);
		return true;
	}

	/** A connection begins: everything the server has not accepted goes out again. */
	open(input: { readonly next: number; readonly written: number; readonly window: number }): void {
		if (input.next < this.#written || input.next > this.#fixed) {
			throw new HawserError(
				"internal",
				`the server goes on at input position ${input.next}, which is not between ${this.#written} and ${this.#fixed}`,
			);
		}
		this.#window = input.window;
		this.receipt(input);
		this.rewind(input.next);
	}

	/** Nothing can be sent until the next connection. */
	close(): void {
		this.#limit = 0;
	}

	/** The server says how far it has come. */
	receipt({ written }: { readonly written: number }): void {
		this.#written = Math.max(this.#written, Math.min(written, this.#fixed));
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

	/** The server wants to go on from here. */
	rewind(position: number): void {
		this.#sent = Math.max(this.#written, Math.min(position, this.#fixed));
		this.#index = this.#entries.findIndex((entry) => entry.position + entry.units > this.#sent);
		if (this.#index < 0) this.#index = this.#entries.length;
	}

	/** What may be sent now and was not yet on this connection; undefined when that is nothing. */
	take(): Piece | undefined {
		const entry = this.#entries[this.#index];
		if (!entry || this.#limit === 0) return undefined;
		const { input } = entry;
		const position = this.#sent;
		const room = this.#limit - position;
		if (!(input instanceof Uint8Array)) {
			// An urgent signal is for a program that reads nothing, when there is no room by nature; it takes no memory.
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

	/** The server will not take what stands here, nor anything after it: positions begin anew from here. */
	refuse(position: number, error: unknown): void {
		const kept: Entry[] = [];
		const refused: Entry[] = [];
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
		this.#fixed = Math.min(this.#fixed, this.#end);
		this.rewind(this.#end);
		for (const { settle } of refused) settle?.(error);
	}

	/** Nothing of what is left will be written. */
	fail(error: unknown): void {
		const entries = this.#entries;
		this.#entries = [];
		this.#index = 0;
		this.#end = this.#fixed;
		for (const entry of entries) entry.settle?.(error);
	}

	#move(entry: Entry, units: number): void {
		this.#sent += units;
		this.#fixed = Math.max(this.#fixed, this.#sent);
		if (this.#sent >= entry.position + entry.units) this.#index++;
	}

	/** Puts an entry before everything whose position is not fixed yet, in the middle of an input if need be. */
	#insert(entry: Entry): void {
		let at = this.#entries.findIndex(({ position, units }) => position + units > this.#fixed);
		if (at < 0) at = this.#entries.length;
		const split = this.#entries[at];
		if (split && split.position < this.#fixed && split.input instanceof Uint8Array) {
			const length = this.#fixed - split.position;
			const [first, rest] = [split.input.subarray(0, length), split.input.subarray(length)];
			this.#entries.splice(
				at,
				1,
				{ position: split.position, units: length, input: first, settle: undefined },
				{ position: this.#fixed, units: rest.byteLength, input: rest, settle: split.settle, isRest: true },
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

function isUrgent(act: Act): boolean {
	return act.type === "signal" && act.urgent === true;
}

const STREAM_ID_BYTES = 16;

/** A name for an input stream that nobody else has; by hand, because `randomUUID` is missing in a browser on a page without TLS. */
export function newStreamId(): string {
	const bytes = globalThis.crypto.getRandomValues(new Uint8Array(STREAM_ID_BYTES));
	return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
