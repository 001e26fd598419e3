/** Makes untrusted text safe for the terminal: control characters and misleading characters become visible. */

import { showUnseen } from "../../words/printable.ts";
import { SEQUENCE, UNFINISHED } from "../../words/visible-text.ts";

/** Control characters except newline and tab, and characters that change the direction or end a line. */
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** For text that hawser did not write: names, errors, titles. */
export function safeText(text: string): string {
	return text.replace(UNSAFE, visible);
}

/** The same on one line, without invisible characters. */
export function safeLine(text: string): string {
	return showUnseen(safeText(text).replace(/[\n\t]/g, visible), visible);
}

/** JSON with control characters escaped, so that a terminal does not act on them. */
export function safeJson(value: unknown, indent = 2): string {
	return showUnseen(JSON.stringify(value, null, indent).replace(UNSAFE, inJson), inJson);
}

/** Escapes each half of a surrogate pair. */
function inJson(character: string): string {
	return character.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function visible(character: string): string {
	const code = character.codePointAt(0) ?? 0;
	if (code > 0xffff) return `\\u{${code.toString(16)}}`;
	if (character === "\n") return "\\n";
	if (character === "\t") return "\\t";
	return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

const COLOURS = /^\u001b\[[0-9;:]*m$/;

/**
 * Decodes a program's output for reading: keeps text and colors, drops sequences that act on the terminal. Otherwise
 * viewing a log could set the clipboard, or type into the shell.
 */
export class SafeOutputDecoder {
	readonly #decoder = new TextDecoder();
	#rest = "";

	/** The readable part of the output so far. */
	push(bytes: Uint8Array): string {
		return this.#take(this.#decoder.decode(bytes, { stream: true }), false);
	}

	/** The text held back. */
	end(): string {
		return this.#take(this.#decoder.decode(), true);
	}

	#take(text: string, isLast: boolean): string {
		const all = this.#rest + text;
		const [kept = ""] = isLast ? [] : (UNFINISHED.exec(all) ?? []);
		this.#rest = kept;
		const ready = all.slice(0, all.length - kept.length);
		return ready
			.split(SEQUENCE_OR_TEXT)
			.map((part) => (part.startsWith("\u001b") ? sequence(part) : safeControls(part)))
			.join("");
	}
}

/** Splits so that sequences become separate parts. */
const SEQUENCE_OR_TEXT = new RegExp(`(${SEQUENCE.source})`);

function sequence(part: string): string {
	if (COLOURS.test(part)) return part;
	return new RegExp(`^(?:${SEQUENCE.source})$`).test(part) ? "" : safeControls(part);
}

/** Programs use carriage return and backspace to show progress; drop the bell. */
function safeControls(text: string): string {
	return text.replaceAll("\u0007", "").replace(UNSAFE, (character) => {
		return character === "\r" || character === "\b" ? character : visible(character);
	});
}
