/** Encodes keys for programs, and recognizes the page's own shortcuts. */

export type Modifiers = { readonly ctrl: boolean; readonly alt: boolean; readonly shift: boolean };

/** Whether cursor keys use application mode (DECCKM), which full-screen programs request. */
export type KeyModes = { readonly isApplicationCursor: boolean };

/** By the browser's key names. */
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

/** The sequence that xterm sends for a key or text with modifiers. */
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

/** Applies on-screen modifiers to typed text, if it is one character. */
export function withModifiers(text: string, { ctrl, alt }: Modifiers): string {
	if ([...text].length !== 1) return text;
	return `${alt ? "\u001b" : ""}${ctrl ? controlOf(text) : text}`;
}

/** The control character; other characters stay as they are. */
function controlOf(character: string): string {
	const digit = "2345678".indexOf(character);
	if (digit >= 0) return "\0\u001b\u001c\u001d\u001e\u001f\u007f".charAt(digit);
	if (character === " ") return "\0";
	if (character === "/" || character === "-") return "\u001f";
	if (character === "?") return "\u007f";
	const code = character.toUpperCase().charCodeAt(0);
	return code >= 0x40 && code <= 0x5f ? String.fromCharCode(code - 0x40) : character;
}

/** An on-screen modifier: for the next key, or until it is released. */
export type Sticky = "off" | "next" | "locked";

/** The first tap applies to the next key, the second locks, the third releases. */
export function afterTap(sticky: Sticky): Sticky {
	return sticky === "off" ? "next" : sticky === "next" ? "locked" : "off";
}

/** The state after a key was sent. */
export function afterKey(sticky: Sticky): Sticky {
	return sticky === "next" ? "off" : sticky;
}

/** The page's shortcuts while a terminal has the focus. */
export type OwnKey =
	| "go-to"
	| "next-need"
	| "search"
	| "copy"
	| "paste"
	| "previous-command"
	| "next-command"
	| "leave";

/** The parts of a keyboard event used here. */
export type PressedKey = {
	readonly code: string;
	readonly ctrlKey: boolean;
	readonly shiftKey: boolean;
	readonly metaKey: boolean;
	readonly altKey: boolean;
};

/** By physical key, so that they work with every keyboard layout. */
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

/** Ctrl-Shift with a key, or Command on a Mac. All other keys go to the program. */
export function ownKey({ code, ctrlKey, shiftKey, metaKey, altKey }: PressedKey, isMac: boolean): OwnKey | undefined {
	const isOurs = isMac ? metaKey && !ctrlKey && !altKey : ctrlKey && shiftKey && !metaKey && !altKey;
	return isOurs ? OWN_KEYS.get(code) : undefined;
}

/**
 * Whether the data reports focus or mouse, which the terminal sends by itself when it is viewed, so it is not typing.
 */
export function isFocusOrMouseReport(data: string): boolean {
	return data === "\u001b[I" || data === "\u001b[O" || /^\u001b\[<(3[2-9]|[4-6]\d);\d+;\d+[Mm]$/.test(data);
}
