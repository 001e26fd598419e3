/**
 * The line that callers with gates have typed into a session, as far as it can be known: what was typed since the last
 * Enter, in however many pieces, with what they took back of it. What other keys make of a line (completion, history, a
 * cursor that moves) only the program knows, so that such a line is not readable.
 */

import { RUN_KEY } from "./shell-runner.ts";

/** How much of a line is remembered, in bytes; a longer one is not readable. */
export const LONGEST_TYPED_BYTES: number = 64 * 1024;

/** With what a program may take a line, one character for each byte: Enter in all its forms, ^D, readline's ^O, and our own key. */
const runKey = String.fromCharCode(...RUN_KEY).replace(/[[\]]/g, "\\$&");
const ENDS = new RegExp(`[\\r\\n\\x04\\x0f]|\\x1bOM|\\x1b\\[(?:13|57414)[\\d;:]*u|${runKey}`, "g");
const SIGNAL_KEYS = /[\x03\x1a\x1c]/;
/** Beginning and end of what is pasted, an Enter of several bytes, or one character. */
const KEYS = /\x1b\[20[01]~|\x1bOM|\x1b\[(?:13|57414)[\d;:]*u|[\s\S]/gu;
const CONTROLS = /[\x00-\x09\x0b\x0c\x0e-\x1f\x7f]/;

export type Reading = {
	/** What the program reads, if it reads lines as shells do; each line of it ends with a newline. */
	readonly text: string;
	/** As it was typed. */
	readonly typed: string;
	/** Whether all of its keys are known for what they do. */
	readonly isReadable: boolean;
	/** Whether it is given to the program. */
	readonly isEnded: boolean;
	/** Whether the new part of it has a key that sends a signal. */
	readonly hasSignal: boolean;
};

export class TypedLine {
	/** One character for each byte, since the last end of a line. */
	#typed = "";
	#isTooLong = false;
	#revision = 0;
	#turn: Promise<unknown> = Promise.resolve();

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
		const typed = Buffer.from(all, "latin1").toString("utf8");
		const { text, isReadable } = edited(typed);
		return {
			text,
			typed,
			isReadable: isReadable && !this.#isTooLong,
			isEnded: lastEnd(all) > 0,
			hasSignal: SIGNAL_KEYS.test(added),
		};
	}

	/** These bytes are typed. */
	take(bytes: Uint8Array): void {
		const all = this.#typed + latin1(bytes);
		const end = lastEnd(all);
		if (end > 0) this.#isTooLong = false;
		const rest = all.slice(end);
		if (rest.length > LONGEST_TYPED_BYTES) this.#isTooLong = true;
		this.#typed = rest.slice(0, LONGEST_TYPED_BYTES);
		this.#revision++;
	}
}

function latin1(bytes: Uint8Array): string {
	return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

/** Behind the last key that ends a line; zero if there is none. */
function lastEnd(typed: string): number {
	let end = 0;
	for (const { 0: key, index } of typed.matchAll(ENDS)) end = index + key.length;
	return end;
}

/** A line as shells and terminals edit it: the last character, word or all of it is taken back. */
function edited(typed: string): { readonly text: string; readonly isReadable: boolean } {
	if (!CONTROLS.test(typed)) return { text: typed.replaceAll("\r", "\n"), isReadable: true };
	let isReadable = true;
	let isPasted = false;
	const before: string[] = [];
	let line: string[] = [];
	for (const [key] of typed.matchAll(KEYS)) {
		if (key === "\x1b[200~" || key === "\x1b[201~") isPasted = key === "\x1b[200~";
		else if (key.length > 2 || key === "\r" || key === "\n" || key === "\x04" || key === "\x0f") {
			before.push(...line, "\n");
			line = [];
		} else if (key === "\x7f" || key === "\b") line.pop();
		else if (key === "\x15" || key === "\x03") line = [];
		else if (key === "\x17") line = withoutWord(line);
		else if (CONTROLS.test(key) && !(key === "\t" && isPasted)) isReadable = false;
		else line.push(key);
	}
	return { text: [...before, ...line].join(""), isReadable };
}

function withoutWord(line: readonly string[]): string[] {
	return [...line.join("").replace(/\S*\s*$/, "")];
}
