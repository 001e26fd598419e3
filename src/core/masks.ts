/**
 * Values that must not be in a session's output, such as passwords that were typed into it: wherever one comes, as it is
 * or in a form in which programs print such things, it is overwritten by as many `*`. What was written is as long as
 * before, so that every place in it stays the same, and nobody ever has the value.
 *
 * A value may come in parts. What could be the beginning of one is held back for a moment, until it is known.
 */

import { SessionError } from "./errors.ts";

/** A shorter one would be found in what has nothing to do with it. */
const SHORTEST_BYTES = 6;
/** More values than people type into one session; each makes what follows a little slower to write. */
const MOST_VALUES = 64;

const STAR = 0x2a;
const NOTHING = Buffer.alloc(0);

export class Masks {
	/** What is looked for: each value in all its forms. */
	#forms: Buffer[] = [];
	#values = 0;
	/** The end of what came last, which may be the beginning of one: as it was written, and as it may be seen. */
	#held: Buffer = NOTHING;
	#seen: Buffer = NOTHING;

	get isHolding(): boolean {
		return this.#held.byteLength > 0;
	}

	add(value: Uint8Array): void {
		const isKnown = (form: Buffer) => this.#forms.some((known) => known.equals(form));
		const forms = formsOf(Buffer.from(value)).filter((form) => form.byteLength >= SHORTEST_BYTES && !isKnown(form));
		if (forms.length === 0) return;
		if (this.#values >= MOST_VALUES) {
			throw new SessionError("limit_exceeded", `${MOST_VALUES} secrets were typed into this session already`, {
				hint: "start a new session",
			});
		}
		this.#values++;
		this.#forms.push(...forms);
	}

	/** What may be seen of the output so far; the end of it may have to wait for what comes next. */
	take(bytes: Uint8Array): Uint8Array {
		if (this.#forms.length === 0) return bytes;
		const all = Buffer.concat([this.#held, bytes]);
		const found = this.#forms.flatMap((form) => placesOf(all, form));
		const seen = Buffer.from(all);
		for (const { from, to } of found) seen.fill(STAR, from, to);
		let known = all.byteLength - Math.max(...this.#forms.map((form) => begunAtEnd(all, form)));
		// One of them may go on in another: what is held is held from its beginning on.
		for (const { from, to } of found.sort((one, other) => other.to - one.to))
			if (from < known && known < to) known = from;
		this.#held = all.subarray(known);
		this.#seen = seen.subarray(known);
		return seen.subarray(0, known);
	}

	/** What was held back: nothing follows, or not soon enough. */
	release(): Uint8Array {
		const seen = this.#seen;
		this.#held = NOTHING;
		this.#seen = NOTHING;
		return seen;
	}
}

type Place = { readonly from: number; readonly to: number };

function placesOf(all: Buffer, form: Buffer): Place[] {
	const places: Place[] = [];
	for (let at = all.indexOf(form); at >= 0; at = all.indexOf(form, at + form.byteLength))
		places.push({ from: at, to: at + form.byteLength });
	return places;
}

/** How many bytes at the end may be the beginning of it. */
function begunAtEnd(all: Buffer, form: Buffer): number {
	const [first = 0] = form;
	const from = Math.max(0, all.byteLength - form.byteLength + 1);
	for (let at = all.indexOf(first, from); at >= 0; at = all.indexOf(first, at + 1)) {
		const length = all.byteLength - at;
		if (all.compare(form, 0, length, at) === 0) return length;
	}
	return 0;
}

/** As it is, and as programs write it: in base64 wherever it begins, in hexadecimals, in an address, in JSON, in a shell. */
function formsOf(value: Buffer): Buffer[] {
	const text = value.toString();
	const base64 = [0, 1, 2].map((shift) => inBase64(value, shift));
	const address = encodeURIComponent(text);
	const texts = [
		...base64,
		...base64.map((form) => form.replaceAll("+", "-").replaceAll("/", "_")),
		value.toString("hex"),
		value.toString("hex").toUpperCase(),
		address,
		address.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
		JSON.stringify(text).slice(1, -1),
		text.replaceAll("'", "'\\''"),
		text.replaceAll(/[^A-Za-z0-9_./:=@%+,-]/g, "\\$&"),
	];
	const distinct = new Set([value.toString("latin1"), ...texts.map((form) => Buffer.from(form).toString("latin1"))]);
	return Array.from(distinct, (form) => Buffer.from(form, "latin1"));
}

/** What of it is the same whatever stands around it, if it begins so many bytes after a group of three. */
function inBase64(value: Buffer, shift: number): string {
	const shifted = Buffer.concat([Buffer.alloc(shift), value]);
	const whole = shifted.subarray(0, shifted.byteLength - (shifted.byteLength % 3));
	return whole.toString("base64").slice([0, 2, 3][shift]);
}
