/**
 * The line that callers with gates have typed into a session since the last Enter, in any number of pieces. Its meaning
 * is known only as far as all shells and terminals agree. So it is judged in every form in which a program may read it,
 * and any other key makes it unreadable.
 */

import { Serial } from "../../async/serial.ts";

/**
 * Bytes of a line that are remembered. A longer line is unreadable.
 * @limit a typed line of callers with gates | it is held as unreadable
 */
export const LONGEST_TYPED_BYTES: number = 64 * 1024;

const SIGNAL_KEYS = /[\x03\x1a\x1c]/;
const PASTE_MARKS = /\x1b\[20[01]~/g;
const PASTE_BEGIN = "\x1b[200~";
const PASTE_END = "\x1b[201~";
/** An incomplete paste marker, which may still be completed. */
const BROKEN_MARK = /\x1b(\[(2(0[01]?)?)?)?$/;
/** A paste marker, one UTF-8 character, or one invalid byte. In Latin-1, so that indexes are byte offsets. */
const KEYS =
	/\x1b\[20[01]~|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|\xed[\x80-\x9f][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}|[\s\S]/g;
/** Control characters, also of eight bits, and invalid UTF-8, which some line editors take for keys. */
const CONTROLS = /[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]/;
/** Characters that a shell may drop from a command: all of those except tab. */
const DROPPED = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]/g;
/** One column and one byte, so that one Backspace deletes it everywhere. */
const PLAIN = /^[\x20-\x7e]$/;
/** Line ends on a terminal; on pipes only a newline. */
const ENTERS = ["\r", "\n"];

export type LineReading = {
	/** The text as the program may read it, in every possible form; each line ends with a newline. */
	readonly texts: readonly string[];
	/** As it was typed. */
	readonly typed: string;
	/** Whether the effect of all keys is known. */
	readonly isReadable: boolean;
	/** Whether the new part has keys with an unknown effect. They may run something at once. */
	readonly hasUnknownKeys: boolean;
	/** Whether the program gets the line. */
	readonly isEnded: boolean;
	/** Whether the new part has a key that sends a signal. */
	readonly hasSignal: boolean;
};

type TypedLineOptions = {
	/** Pipes have no line editing. */
	readonly mode: "pty" | "pipe";
	/** Earlier input is unknown. */
	readonly isBegun?: boolean;
};

export class TypedLine {
	readonly #isTerminal: boolean;
	/** One character per byte, since the last line end. */
	#typed = "";
	/** Whether there is more on the line than is known. */
	#isPartial: boolean;
	/** Whether the line begins inside a paste. */
	#isPasted = false;
	/** Offsets of paste markers that came in two writes. A program that read the first write took it for other keys. */
	readonly #broken = new Set<number>();
	#revision = 0;
	/** Input is judged and typed one after another, so that the line does not change in between. */
	readonly inOrder: Serial = new Serial();

	constructor({ mode, isBegun = false }: TypedLineOptions) {
		this.#isTerminal = mode === "pty";
		this.#isPartial = isBegun;
	}

	/** Grows with each input. */
	get revision(): number {
		return this.#revision;
	}

	/** Differs whenever the line may be read differently. */
	get content(): string {
		return JSON.stringify([this.#typed, this.#isPartial, this.#isPasted, [...this.#broken]]);
	}

	get isEmpty(): boolean {
		return this.#typed === "";
	}

	/** The line with these bytes added. */
	with(bytes: Uint8Array): LineReading {
		const added = latin1(bytes);
		const all = this.#typed + added;
		const typed = utf8(all);
		const { edited, unknownTo } = this.#edited(all);
		return {
			texts: [...new Set([this.#asLines(typed), this.#asLines(withoutKeys(typed)), edited])],
			typed,
			isReadable: unknownTo === 0 && !this.#isPartial,
			// The end of the unknown part counts: the last byte may make an earlier one part of another key.
			hasUnknownKeys: unknownTo > this.#typed.length,
			isEnded: this.#lastEnd(all) > 0,
			hasSignal: SIGNAL_KEYS.test(added),
		};
	}

	/**
	 * The line with a command, which ends with Enter. A shell with hooks gets the command verbatim, on an empty line. If
	 * it is typed, it contains no keys, and it may follow text on the line.
	 */
	withCommand(bytes: Uint8Array): LineReading {
		const reading = this.with(bytes);
		const command = utf8(latin1(bytes)).replace(/\r$/, "\n");
		const texts = [...new Set([command, withoutKeys(command), ...reading.texts])];
		return { ...reading, texts, isReadable: true, hasUnknownKeys: false };
	}

	/** The line is no longer known. */
	lose(): void {
		this.#isPartial = true;
		this.#revision++;
	}

	/** These bytes were typed. */
	take(bytes: Uint8Array): void {
		this.#noteBrokenMark();
		const all = this.#typed + latin1(bytes);
		const end = this.#lastEnd(all);
		if (end > 0) {
			this.#isPartial = false;
			const mark = all.slice(0, end).match(PASTE_MARKS)?.at(-1);
			if (mark !== undefined) this.#isPasted = mark === PASTE_BEGIN;
			// No marker goes beyond a line.
			this.#broken.clear();
		}
		const rest = all.slice(end);
		if (rest.length > LONGEST_TYPED_BYTES) this.#isPartial = true;
		this.#typed = rest.slice(0, LONGEST_TYPED_BYTES);
		this.#revision++;
	}

	/** The position after the last key that ends a line in every program; zero if there is none. */
	#lastEnd(typed: string): number {
		return Math.max(typed.lastIndexOf("\n"), this.#isTerminal ? typed.lastIndexOf("\r") : -1) + 1;
	}

	#asLines(typed: string): string {
		return this.#isTerminal ? typed.replaceAll("\r", "\n") : typed;
	}

	#noteBrokenMark(): void {
		const broken = BROKEN_MARK.exec(this.#typed);
		if (broken) this.#broken.add(broken.index);
	}

	/**
	 * The line as shells and terminals edit it, and the end of the last key with an unknown effect; zero if there is
	 * none. Backspace and ^U delete text on the line, but on an empty line some shells continue in the line before. ^D
	 * ends the input on an empty line, and only there.
	 */
	#edited(typed: string): { readonly edited: string; readonly unknownTo: number } {
		const text = utf8(typed);
		if (!this.#isTerminal || !CONTROLS.test(text)) return { edited: this.#asLines(text), unknownTo: 0 };
		let isPasted = this.#isPasted;
		let unknownTo = 0;
		let before = "";
		let line: string[] = [];
		for (const { 0: key, index } of typed.matchAll(KEYS)) {
			const isMark = key === PASTE_BEGIN || key === PASTE_END;
			// Inside a paste a program waits for the rest of the end marker.
			const isBroken = isMark && this.#isBroken(index, key.length) && !(isPasted && key === PASTE_END);
			if (isMark && !isBroken) isPasted = key === PASTE_BEGIN;
			else if (ENTERS.includes(key)) {
				before += `${line.join("")}\n`;
				line = [];
			} else if (isText(key)) line.push(key);
			else if (isPasted || isBroken) unknownTo = index + key.length;
			else if (key === "\x03") line = [];
			else if (key === "\x15" && line.length > 0) line = [];
			else if (key === "\x7f" && PLAIN.test(line.at(-1) ?? "")) line.pop();
			else if (key !== "\x04" || line.length > 0) unknownTo = index + key.length;
		}
		return { edited: utf8(before + line.join("")), unknownTo };
	}

	/** Whether a marker came in two writes. */
	#isBroken(index: number, length: number): boolean {
		const isAcross = index < this.#typed.length && index + length > this.#typed.length;
		return this.#broken.has(index) || isAcross;
	}
}

/** Whether a key in Latin-1 is text. */
function isText(key: string): boolean {
	return PLAIN.test(key) || (key.length < PASTE_BEGIN.length && !CONTROLS.test(utf8(key)));
}

function latin1(bytes: Uint8Array): string {
	return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

function utf8(bytes: string): string {
	return Buffer.from(bytes, "latin1").toString("utf8");
}

/** The text for a program that ignores keys and paste markers. */
function withoutKeys(typed: string): string {
	return typed.replace(PASTE_MARKS, "").replace(DROPPED, "");
}
