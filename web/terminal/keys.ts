/** What keys send to a program, and which of them are ours. */

export type Modifiers = { readonly ctrl: boolean; readonly alt: boolean; readonly shift: boolean };

/** Whether cursor keys are to be told in the way that full-screen programs ask for (DECCKM). */
export type KeyModes = { readonly isApplicationCursor: boolean };

/** By the names that browsers have for keys. */
const CURSOR_KEYS: ReadonlyMap<string, string> = new Map([
	["ArrowUp", "A"],
	["ArrowDown", "B"],
	["ArrowRight", "C"],
	["ArrowLeft", "D"],
	["Home", "H"],
	["End", "F"],
]);

const NUMBERED_KEYS: ReadonlyMap<string, number> = new Map([
	["Insert", 2],
	["Delete", 3],
	["PageUp", 5],
	["PageDown", 6],
]);

/** A key by its name, or text, with modifiers, as xterm sends it. */
export function sequenceOf(key: string, modifiers: Modifiers, { isApplicationCursor }: KeyModes): string {
	const parameter = 1 + (modifiers.shift ? 1 : 0) + (modifiers.alt ? 2 : 0) + (modifiers.ctrl ? 4 : 0);
	const cursor = CURSOR_KEYS.get(key);
	if (cursor !== undefined) {
		if (parameter > 1) return `\u001b[1;${parameter}${cursor}`;
		return isApplicationCursor ? `\u001bO${cursor}` : `\u001b[${cursor}`;
	}
	const number = NUMBERED_KEYS.get(key);
	if (number !== undefined) return parameter > 1 ? `\u001b[${number};${parameter}~` : `\u001b[${number}~`;
	const meta = modifiers.alt ? "\u001b" : "";
	switch (key) {
		case "Escape":
			return `${meta}\u001b`;
		case "Enter":
			return `${meta}\r`;
		case "Backspace":
			return `${meta}${modifiers.ctrl ? "\b" : "\u007f"}`;
		case "Tab":
			return modifiers.shift ? `${meta}\u001b[Z` : `${meta}\t`;
		default:
			return withModifiers(key, modifiers);
	}
}

/** What was typed, with modifiers that were pressed on the screen: for one character, and else as it is. */
export function withModifiers(text: string, { ctrl, alt }: Modifiers): string {
	if ([...text].length !== 1) return text;
	return `${alt ? "\u001b" : ""}${ctrl ? controlOf(text) : text}`;
}

/** As terminals have always had it; what has no control character stays as it is. */
function controlOf(character: string): string {
	const digit = "2345678".indexOf(character);
	if (digit >= 0) return "\0\u001b\u001c\u001d\u001e\u001f\u007f".charAt(digit);
	if (character === " ") return "\0";
	if (character === "/" || character === "-") return "\u001f";
	if (character === "?") return "\u007f";
	const code = character.toUpperCase().charCodeAt(0);
	return code >= 0x40 && code <= 0x5f ? String.fromCharCode(code - 0x40) : character;
}

/** A modifier on the screen: for the next key, or until it is let go. */
export type Sticky = "off" | "next" | "locked";

/** A first tap is for the next key, a second keeps it, a third lets it go. */
export function tapped(sticky: Sticky): Sticky {
	return sticky === "off" ? "next" : sticky === "next" ? "locked" : "off";
}

/** A key has been sent. */
export function used(sticky: Sticky): Sticky {
	return sticky === "next" ? "off" : sticky;
}

/** What the keys that are ours do while a terminal has the focus. */
export type OwnKey =
	| "go-to"
	| "next-need"
	| "search"
	| "copy"
	| "paste"
	| "previous-command"
	| "next-command"
	| "leave";

/** As much of a browser's event as counts. */
export type PressedKey = {
	readonly code: string;
	readonly ctrlKey: boolean;
	readonly shiftKey: boolean;
	readonly metaKey: boolean;
	readonly altKey: boolean;
};

/** By the place of the key, so that they are where they are with every alphabet. */
const OWN_KEYS: ReadonlyMap<string, OwnKey> = new Map([
	["KeyK", "go-to"],
	["KeyA", "next-need"],
	["KeyF", "search"],
	["KeyC", "copy"],
	["KeyV", "paste"],
	["ArrowUp", "previous-command"],
	["ArrowDown", "next-command"],
	["KeyL", "leave"],
]);

/** Ctrl-Shift and a key, or Command and it on a Mac: every other key belongs to the program. */
export function ownKey({ code, ctrlKey, shiftKey, metaKey, altKey }: PressedKey, isMac: boolean): OwnKey | undefined {
	const isOurs = isMac ? metaKey && !ctrlKey && !altKey : ctrlKey && shiftKey && !metaKey && !altKey;
	return isOurs ? OWN_KEYS.get(code) : undefined;
}

/**
 * Whether it only tells where the focus or the mouse is. A terminal says so by itself when somebody looks at it, so it is
 * no typing.
 */
export function isReport(data: string): boolean {
	return data === "\u001b[I" || data === "\u001b[O" || /^\u001b\[<(3[2-9]|[4-6]\d);\d+;\d+[Mm]$/.test(data);
}
