/**
 * The line that callers with gates have typed into a session: everything since the last Enter, in however many pieces.
 * What a program makes of it is known only as far as all shells and terminals agree. It is therefore told in every form
 * in which it may be read, and any other key makes it a line of which only the program knows what it is.
 */

/** How much of a line is remembered, in bytes; a longer one is not readable. */
export const LONGEST_TYPED_BYTES: number = 64 * 1024;

const SIGNAL_KEYS = /[\x03\x1a\x1c]/;
const PASTE_MARKS = /\x1b\[20[01]~/g;
const PASTE_BEGIN = "\x1b[200~";
/** Beginning or end of what is pasted, or one character. */
const KEYS = /\x1b\[20[01]~|[\s\S]/gu;
/** What is no text: controls, those of eight bits too, and what is not UTF-8, which some line editors take for keys. */
const CONTROLS = /[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]/;
/** What a shell may leave out of a command: all of those but a tab. */
const UNHEEDED = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]/g;
/** One column and one byte, so that it is one Backspace everywhere. */
const PLAIN = /^[\x20-\x7e]$/;
/** On a terminal; elsewhere only a newline is one. */
const ENTERS = ["\r", "\n"];

export type Reading = {
	/** What the program may read, in every form that it may have for it; each line ends with a newline. */
	readonly texts: readonly string[];
	/** As it was typed. */
	readonly typed: string;
	/** Whether all of its keys are known for what they do. */
	readonly isReadable: boolean;
	/** Whether the new part of it has keys that are not: they may run something at once. */
	readonly hasUnknownKeys: boolean;
	/** Whether it is given to the program. */
	readonly isEnded: boolean;
	/** Whether the new part of it has a key that sends a signal. */
	readonly hasSignal: boolean;
};

type TypedLineOptions = {
	/** Pipes edit nothing. */
	readonly mode: "pty" | "pipe";
	/** Something may have been typed of which nothing is known here. */
	readonly isBegun?: boolean;
};

export class TypedLine {
	readonly #isTerminal: boolean;
	/** One character for each byte, since the last end of a line. */
	#typed = "";
	/** Whether there is more on the line than is remembered. */
	#isPartial: boolean;
	/** Whether it begins within what is pasted. */
	#isPasted = false;
	#revision = 0;
	#turn: Promise<unknown> = Promise.resolve();

	constructor({ mode, isBegun = false }: TypedLineOptions) {
		this.#isTerminal = mode === "pty";
		this.#isPartial = isBegun;
	}

	/** One after the other: what is judged is what is there when it is typed. */
	inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
		const turn = this.#turn.then(act);
		this.#turn = turn.catch(() => {});
		return turn;
	}

	/** Grows with each time that something is typed. */
	get revision(): number {
		return this.#revision;
	}

	get isEmpty(): boolean {
		return this.#typed === "";
	}

	/** What it would be with these bytes. */
	with(bytes: Uint8Array): Reading {
		const added = latin1(bytes);
		const all = this.#typed + added;
		const typed = utf8(all);
		const { edited, unknownKeys } = this.#edited(typed);
		return {
			texts: [...new Set([this.#asLines(typed), this.#asLines(unheeded(typed)), edited])],
			typed,
			isReadable: unknownKeys === 0 && !this.#isPartial,
			hasUnknownKeys: unknownKeys > this.#edited(utf8(this.#typed)).unknownKeys,
			isEnded: this.#lastEnd(all) > 0,
			hasSignal: SIGNAL_KEYS.test(added),
		};
	}

	/**
	 * What it would be with a command, which ends with Enter. Shells are given that to the letter, and have nothing on
	 * their line then; where it is typed, there are no keys in it, and it may come behind what is there.
	 */
	withCommand(bytes: Uint8Array): Reading {
		const reading = this.with(bytes);
		const command = utf8(latin1(bytes)).replace(/\r$/, "\n");
		const texts = [...new Set([command, unheeded(command), ...reading.texts])];
		return { ...reading, texts, isReadable: true, hasUnknownKeys: false };
	}

	/** These bytes are typed. */
	take(bytes: Uint8Array): void {
		const all = this.#typed + latin1(bytes);
		const end = this.#lastEnd(all);
		if (end > 0) {
			this.#isPartial = false;
			const mark = all.slice(0, end).match(PASTE_MARKS)?.at(-1);
			if (mark !== undefined) this.#isPasted = mark === PASTE_BEGIN;
		}
		const rest = all.slice(end);
		if (rest.length > LONGEST_TYPED_BYTES) this.#isPartial = true;
		this.#typed = rest.slice(0, LONGEST_TYPED_BYTES);
		this.#revision++;
	}

	/** Behind the last key that ends a line in every program; zero if there is none. */
	#lastEnd(typed: string): number {
		return Math.max(typed.lastIndexOf("\n"), this.#isTerminal ? typed.lastIndexOf("\r") : -1) + 1;
	}

	#asLines(typed: string): string {
		return this.#isTerminal ? typed.replaceAll("\r", "\n") : typed;
	}

	/**
	 * As shells and terminals edit it, and how many of its keys are other ones. Backspace and ^U take back what is on the
	 * line, but some shells go on into the line before where nothing is; ^D ends the input there, and only there.
	 */
	#edited(typed: string): { readonly edited: string; readonly unknownKeys: number } {
		if (!this.#isTerminal || !CONTROLS.test(typed)) return { edited: this.#asLines(typed), unknownKeys: 0 };
		let isPasted = this.#isPasted;
		let unknownKeys = 0;
		let before = "";
		let line: string[] = [];
		for (const [key] of typed.matchAll(KEYS)) {
			if (key.length > 2) isPasted = key === PASTE_BEGIN;
			else if (ENTERS.includes(key)) {
				before += `${line.join("")}\n`;
				line = [];
			} else if (!CONTROLS.test(key)) line.push(key);
			else if (isPasted) unknownKeys++;
			else if (key === "\x03") line = [];
			else if (key === "\x15" && line.length > 0) line = [];
			else if (key === "\x7f" && PLAIN.test(line.at(-1) ?? "")) line.pop();
			else if (key !== "\x04" || line.length > 0) unknownKeys++;
		}
		return { edited: before + line.join(""), unknownKeys };
	}
}

function latin1(bytes: Uint8Array): string {
	return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

function utf8(bytes: string): string {
	return Buffer.from(bytes, "latin1").toString("utf8");
}

/** As a program reads it that heeds no keys, and no marks of what is pasted. */
function unheeded(typed: string): string {
	return typed.replace(PASTE_MARKS, "").replace(UNHEEDED, "");
}
