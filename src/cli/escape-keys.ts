/**
 * Finds the keys that are meant for us among those typed for the program: pairs that begin with `~` at the start of a
 * line or with Ctrl-] anywhere, or with what the user prefers to these.
 *
 * A key that may begin such a pair is held until the next one decides, as ssh does. What is pasted is never
 * taken for it, and keys are recognised in the encodings that programs can ask terminals for.
 */

import { InvalidArgumentError, Option } from "commander";

export type Wish = "leave" | "help" | "take" | "who" | "redraw" | "suspend";

/** What to send, and what the user wants of us; what was typed after the wish to leave is dropped. */
export type Typed = { readonly bytes: Buffer; readonly wishes: readonly Wish[] };

/** The keys that begin a pair: one at the start of a line, one anywhere. */
export type Escape = { readonly atLineStart?: string; readonly anywhere?: string };

export const defaultEscape: Escape = { atLineStart: "~", anywhere: "\u001d" };

/** After `~` capitals, as with ssh, because `~w` may be the home of somebody. */
const AT_LINE_START: Readonly<Record<string, Wish>> = {
	".": "leave",
	"?": "help",
	T: "take",
	W: "who",
	R: "redraw",
	"\u001a": "suspend",
};
const ANYWHERE: Readonly<Record<string, Wish>> = {
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
/** A key as the kitty protocol sends it: code, modifiers plus one, and 3 when it is let go. */
const KITTY = /^\u001b\[(\d+)(?::\d*)*(?:;(\d*)(?::(\d+))?)?(?:;[\d:]*)?u$/;
/** And as xterm does with modifyOtherKeys. */
const XTERM = /^\u001b\[27;(\d+);(\d+)~$/;
const SHIFT = 1;
const CTRL = 4;

/** What ends a line; Ctrl-C and Ctrl-D do as far as a shell's prompt is concerned. */
const LINE_ENDS: ReadonlySet<string> = new Set(["\r", "\n", "\u0003", "\u0004"]);

export class EscapeKeys {
	readonly #escapes: Escape;
	#isLineStart = true;
	#isPasting = false;
	/** A key that may be the first of a pair, as it was typed. */
	#held: { readonly key: string; readonly character: string } | undefined;

	constructor(escapes: Escape = defaultEscape) {
		this.#escapes = escapes;
	}

	push(chunk: Uint8Array): Typed {
		const wishes: Wish[] = [];
		let out = "";
		// One character for each byte, so that nothing is decoded that was cut in the middle.
		for (const [key] of Buffer.from(chunk).toString("latin1").matchAll(KEY)) {
			const { sent = "", wish } = this.#press(key);
			out += sent;
			if (wish) wishes.push(wish);
			if (wish === "leave") break;
		}
		return { bytes: Buffer.from(out, "latin1"), wishes };
	}

	#press(key: string): { readonly sent?: string; readonly wish?: Wish } {
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
		const wish = isAnywhere ? ANYWHERE[character.toLowerCase()] : AT_LINE_START[character];
		// After a wish the line is where it was.
		if (wish) return { wish };
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

/** `~`, `%`: at the start of a line; `^]`, `C-a`: anywhere; `none`. */
export function parseEscape(text: string): Escape {
	if (text === "none") return {};
	const [, letter] = /^(?:\^|[Cc]-)([a-zA-Z[\]\\^_])$/.exec(text) ?? [];
	if (letter !== undefined) return { anywhere: control(letter.charCodeAt(0)) };
	if (/^[!-~]$/.test(text)) return { atLineStart: text };
	throw new InvalidArgumentError("expected a character such as ~, a control key such as ^] or C-a, or none");
}

export function escapeOption(): Option {
	return new Option("--escape <key>", "what our own keys begin with: a character such as %, a key such as ^a, or none")
		.env("HAWSER_ESCAPE")
		.argParser(parseEscape)
		.default(defaultEscape, "~ at the start of a line, and ^]");
}

/** How to leave, and what else there is, in one line; nothing when no key is ours. */
export function escapeHint(escapes: Escape): string | undefined {
	const [leave, ...others] = pairs(escapes, ". at the start of a line", "d");
	if (leave === undefined) return undefined;
	return `${pairs(escapes, "?", "?")[0]} for help; leave with ${[leave, ...others].join(", or ")}`;
}

/** The lines of in-session help. */
export function escapeHelp(escapes: Escape, { isViewer }: { readonly isViewer: boolean }): string[] {
	const { atLineStart: first, anywhere } = escapes;
	const forWriters: (readonly [keys: readonly string[], what: string])[] = [
		[pairs(escapes, "T", "t"), "take control: the others watch"],
		[pairs(escapes, "R", "r"), "redraw"],
	];
	const rows: (readonly [keys: readonly string[], what: string])[] = [
		[pairs(escapes, ".", "d"), "leave; the program keeps running"],
		[pairs(escapes, "W", "w"), "who is here"],
		...(isViewer ? [] : forWriters),
		[pairs(escapes, "^Z", "^Z"), "suspend hawser; fg comes back"],
		[pairs(escapes, first ?? "", anywhere === undefined ? "" : nameOf(anywhere)), "type the key itself"],
	];
	const lines = rows.map(([keys, what]) => ({ keys: keys.join("  "), what }));
	const width = Math.max(...lines.map(({ keys }) => keys.length));
	return [
		`${first === undefined ? "these keys are ours" : `these keys are ours, ${first} at the start of a line`}:`,
		...lines.map(({ keys, what }) => `  ${keys.padEnd(width)}  ${what}`),
	];
}

/** The keys for something that is asked for by a capital at the start of a line, and by any letter anywhere. */
export function pairs({ atLineStart, anywhere }: Escape, afterFirst: string, afterControl: string): string[] {
	return [
		...(atLineStart === undefined ? [] : [atLineStart + afterFirst]),
		...(anywhere === undefined ? [] : [`${nameOf(anywhere)} ${afterControl}`]),
	];
}

function nameOf(control: string): string {
	return `Ctrl-${String.fromCharCode(control.charCodeAt(0) + 64)}`;
}

/** The character that a key stands for, however it is encoded; undefined when it is let go. */
function characterOf(key: string): string | undefined {
	const [, code, modifiers, event] = KITTY.exec(key) ?? [];
	if (event === "3") return undefined;
	if (code !== undefined) return decoded(Number(code), Number(modifiers || 1) - 1, key);
	const [, held, character] = XTERM.exec(key) ?? [];
	return character === undefined ? key : decoded(Number(character), Number(held) - 1, key);
}

function decoded(code: number, modifiers: number, key: string): string {
	// The bits above Ctrl are Super and the lock keys, which change nothing.
	const held = modifiers & 7;
	if (held === CTRL) return control(code);
	return held <= SHIFT && code <= 0x10ffff ? String.fromCodePoint(code) : key;
}

/** What a terminal sends for Ctrl and a key. */
function control(code: number): string {
	return String.fromCharCode(code & 0x1f);
}
