/**
 * Recognizes hawser's own keys in the user's input: pairs that start with `~` at the start of a line, or with Ctrl-]
 * anywhere, or with the keys set by --escape.
 *
 * Like ssh, it holds a possible first key until the next key decides. Pasted text never matches. Keys are recognized in
 * all encodings that programs can request from a terminal.
 */

import { InvalidArgumentError, Option } from "commander";

export type AttachCommand = "leave" | "help" | "take" | "who" | "redraw" | "suspend";

/** The bytes to send and the commands to run. Input after a detach command is dropped. */
type KeyResult = { readonly bytes: Buffer; readonly commands: readonly AttachCommand[] };

/** First keys of a pair: one at the start of a line, one anywhere. */
export type EscapePrefixes = { readonly atLineStart?: string; readonly anywhere?: string };

export const defaultEscape: EscapePrefixes = { atLineStart: "~", anywhere: "\u001d" };

/** Capitals after `~`, as in ssh: `~w` may be a user's home directory. */
const AT_LINE_START: Readonly<Record<string, AttachCommand>> = {
	".": "leave",
	"?": "help",
	T: "take",
	W: "who",
	R: "redraw",
	"\u001a": "suspend",
};
const ANYWHERE: Readonly<Record<string, AttachCommand>> = {
	d: "leave",
	".": "leave",
	"?": "help",
	t: "take",
	w: "who",
	r: "redraw",
	"\u001a": "suspend",
};

/** One key: an escape sequence or a single byte. */
const KEY = /\u001b\[[0-?]*[ -/]*[@-~]|./gs;
const PASTE_START = "\u001b[200~";
const PASTE_END = "\u001b[201~";
/** A key in the kitty protocol: code, modifiers plus one, and 3 for a release. */
const KITTY = /^\u001b\[(\d+)(?::\d*)*(?:;(\d*)(?::(\d+))?)?(?:;[\d:]*)?u$/;
/** A key in xterm's modifyOtherKeys encoding. */
const XTERM = /^\u001b\[27;(\d+);(\d+)~$/;
const SHIFT = 1;
const CTRL = 4;

/** Keys that end a line. Ctrl-C and Ctrl-D do so at a shell's prompt. */
const LINE_ENDS: ReadonlySet<string> = new Set(["\r", "\n", "\u0003", "\u0004"]);

export class EscapeKeys {
	readonly #escapes: EscapePrefixes;
	#isLineStart = true;
	#isPasting = false;
	/** A possible first key of a pair, as it was typed. */
	#held: { readonly key: string; readonly character: string } | undefined;

	constructor(escapes: EscapePrefixes = defaultEscape) {
		this.#escapes = escapes;
	}

	push(chunk: Uint8Array): KeyResult {
		const commands: AttachCommand[] = [];
		let out = "";
		// Latin-1 has one character per byte, so a chunk that ends inside a UTF-8 character stays intact.
		for (const [key] of Buffer.from(chunk).toString("latin1").matchAll(KEY)) {
			const { sent = "", command } = this.#press(key);
			out += sent;
			if (command) commands.push(command);
			if (command === "leave") break;
		}
		return { bytes: Buffer.from(out, "latin1"), commands };
	}

	#press(key: string): { readonly sent?: string; readonly command?: AttachCommand } {
		if (this.#isPasting || key === PASTE_START) {
			this.#isPasting = key !== PASTE_END;
			return { sent: this.#release() + key };
		}
		const character = characterOf(key);
		if (character === undefined) return { sent: key };
		const held = this.#held;
		if (held === undefined) return this.#first(key, character);
		this.#held = undefined;
		const isAnywhere = held.character === this.#escapes.anywhere;
		const command = isAnywhere ? ANYWHERE[character.toLowerCase()] : AT_LINE_START[character];
		// A command does not change the line.
		if (command) return { command };
		this.#isLineStart = LINE_ENDS.has(character);
		return { sent: held.character === character ? key : held.key + key };
	}

	#first(key: string, character: string): { readonly sent?: string } {
		const { atLineStart, anywhere } = this.#escapes;
		if (character === anywhere || (character === atLineStart && this.#isLineStart)) {
			this.#held = { key, character };
			return {};
		}
		this.#isLineStart = LINE_ENDS.has(character);
		return { sent: key };
	}

	#release(): string {
		const { key = "" } = this.#held ?? {};
		this.#held = undefined;
		this.#isLineStart = false;
		return key;
	}
}

/** Parses `~` or `%` (start of a line), `^]` or `C-a` (anywhere), and `none`. */
export function parseEscape(text: string): EscapePrefixes {
	if (text === "none") return {};
	const [, letter] = /^(?:\^|[Cc]-)([a-zA-Z[\]\\^_])$/.exec(text) ?? [];
	if (letter !== undefined) return { anywhere: control(letter.charCodeAt(0)) };
	if (/^[!-~]$/.test(text)) return { atLineStart: text };
	throw new InvalidArgumentError('expected a character such as ~, a control key such as ^] or C-a, or "none"');
}

export function escapeOption(): Option {
	return new Option(
		"--escape <key>",
		"prefix of hawser's own keys: a character such as %, a control key such as ^a, or none",
	)
		.env("HAWSER_ESCAPE")
		.argParser(parseEscape)
		.default(defaultEscape, "~ at the start of a line, and ^]");
}

/** How to detach and get help, in one line; undefined with --escape none. */
export function escapeHint(escapes: EscapePrefixes): string | undefined {
	const [leave, ...others] = keyLabels(escapes, ". at the start of a line", "d");
	if (leave === undefined) return undefined;
	return `detach: ${[leave, ...others].join(", or ")}; help: ${keyLabels(escapes, "?", "?")[0]}`;
}

/** Lines of the in-session help. */
export function escapeHelp(escapes: EscapePrefixes, { isViewer }: { readonly isViewer: boolean }): string[] {
	const { atLineStart: first, anywhere } = escapes;
	const forWriters: (readonly [keys: readonly string[], what: string])[] = [
		[keyLabels(escapes, "T", "t"), "take exclusive control"],
		[keyLabels(escapes, "R", "r"), "redraw"],
	];
	const rows: (readonly [keys: readonly string[], what: string])[] = [
		[keyLabels(escapes, ".", "d"), "detach; the program keeps running"],
		[keyLabels(escapes, "W", "w"), "list attached clients"],
		...(isViewer ? [] : forWriters),
		[keyLabels(escapes, "^Z", "^Z"), "suspend hawser (resume with fg)"],
		[keyLabels(escapes, first ?? "", anywhere === undefined ? "" : nameOf(anywhere)), "send the key itself"],
	];
	const lines = rows.map(([keys, what]) => ({ keys: keys.join("  "), what }));
	const width = Math.max(...lines.map(({ keys }) => keys.length));
	return [
		`${first === undefined ? "hawser keys" : `hawser keys (${first} only at the start of a line)`}:`,
		...lines.map(({ keys, what }) => `  ${keys.padEnd(width)}  ${what}`),
	];
}

/** Labels of a command's keys: a capital at the start of a line, any case anywhere. */
export function keyLabels(
	{ atLineStart, anywhere }: EscapePrefixes,
	afterFirst: string,
	afterControl: string,
): string[] {
	return [
		...(atLineStart === undefined ? [] : [atLineStart + afterFirst]),
		...(anywhere === undefined ? [] : [`${nameOf(anywhere)} ${afterControl}`]),
	];
}

function nameOf(control: string): string {
	return `Ctrl-${String.fromCharCode(control.charCodeAt(0) + 64)}`;
}

/** The character of a key in any encoding; undefined for a release. */
function characterOf(key: string): string | undefined {
	const [, code, modifiers, event] = KITTY.exec(key) ?? [];
	if (event === "3") return undefined;
	if (code !== undefined) return decoded(Number(code), Number(modifiers || 1) - 1, key);
	const [, held, character] = XTERM.exec(key) ?? [];
	return character === undefined ? key : decoded(Number(character), Number(held) - 1, key);
}

function decoded(code: number, modifiers: number, key: string): string {
	// Bits above Ctrl are Super and the lock keys, which don't matter.
	const held = modifiers & 7;
	if (held === CTRL) return control(code);
	return held <= SHIFT && code <= 0x10ffff ? String.fromCodePoint(code) : key;
}

/** The character that a terminal sends for Ctrl with a key. */
function control(code: number): string {
	return String.fromCharCode(code & 0x1f);
}
