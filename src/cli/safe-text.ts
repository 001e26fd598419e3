/** Foreign text on its way into somebody's terminal: what could move the cursor, or say something else than it shows, is made visible. */

import { showUnseen } from "../protocol/printable.ts";
import { SEQUENCE, UNFINISHED } from "../protocol/visible-text.ts";

/** Controls but newline and tab, and what changes the direction or the end of a line. */
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Names, errors, titles: everything printed that we did not write ourselves. */
export function safeText(text: string): string {
	return text.replace(UNSAFE, visible);
}

/** For a table or a message, with names in it: on one line, and nothing in it that is not seen. */
export function safeLine(text: string): string {
	return showUnseen(safeText(text).replace(/[\n\t]/g, visible), visible);
}

/** JSON that is safe to look at: what JSON leaves as it is, and a terminal would act on, is escaped as JSON can. */
export function safeJson(value: unknown, indent = 2): string {
	return showUnseen(JSON.stringify(value, null, indent).replace(UNSAFE, inJson), inJson);
}

/** Each half of a pair for itself. */
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
 * A program's output for reading, not for replaying: text and colours stay, what would act on the
 * terminal goes. Otherwise looking at a log could set the clipboard, or type an answer into the shell.
 */
export class ReadableOutput {
	readonly #decoder = new TextDecoder();
	#rest = "";

	/** The readable part of what has come so far. */
	push(bytes: Uint8Array): string {
		return this.#take(this.#decoder.decode(bytes, { stream: true }), false);
	}

	/** What was held back. */
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

/** Splits so that the sequences are parts of their own. */
const SEQUENCE_OR_TEXT = new RegExp(`(${SEQUENCE.source})`);

function sequence(part: string): string {
	if (COLOURS.test(part)) return part;
	return new RegExp(`^(?:${SEQUENCE.source})$`).test(part) ? "" : safeControls(part);
}

/** Carriage return and backspace are how programs write progress; the bell is only a nuisance. */
function safeControls(text: string): string {
	return text.replaceAll("\u0007", "").replace(UNSAFE, (character) => {
		return character === "\r" || character === "\b" ? character : visible(character);
	});
}
