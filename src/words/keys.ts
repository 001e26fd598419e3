/**
 * Translates key names, in tmux's style (`C-c`, `S-Tab`, `Up`) or the common one (`ctrl+c`), to the bytes a terminal
 * sends.
 */

const ESC = "\u001b";

/** Keys without modifiers, by lower-case name. */
const plain: Readonly<Record<string, string>> = {
	enter: "\r",
	return: "\r",
	cr: "\r",
	tab: "\t",
	escape: ESC,
	esc: ESC,
	space: " ",
	backspace: "\u007f",
	bspace: "\u007f",
	plus: "+",
	minus: "-",
};

/** Keys that end in a letter: `ESC [ A`, and with modifiers `ESC [ 1 ; m A`. */
const lettered: Readonly<Record<string, string>> = {
	up: "A",
	down: "B",
	right: "C",
	left: "D",
	home: "H",
	end: "F",
	f1: "P",
	f2: "Q",
	f3: "R",
	f4: "S",
};

/** Keys with a number: `ESC [ 5 ~`, and with modifiers `ESC [ 5 ; m ~`. */
const numbered: Readonly<Record<string, number>> = {
	insert: 2,
	ic: 2,
	delete: 3,
	dc: 3,
	pageup: 5,
	ppage: 5,
	pgup: 5,
	pagedown: 6,
	npage: 6,
	pgdn: 6,
	f5: 15,
	f6: 17,
	f7: 18,
	f8: 19,
	f9: 20,
	f10: 21,
	f11: 23,
	f12: 24,
};

/** Modifier bits. xterm sends their sum plus one. */
const modifiers: Readonly<Record<string, number>> = {
	s: 1,
	shift: 1,
	m: 2,
	a: 2,
	alt: 2,
	meta: 2,
	option: 2,
	c: 4,
	ctrl: 4,
	control: 4,
};

const SHIFT = 1;
const ALT = 2;
const CTRL = 4;

/** The bytes of one key press, or undefined for an unknown name. */
export function encodeKey(name: string): Uint8Array | undefined {
	const { held, key } = splitModifiers(name);
	const text = pressed(key, held);
	return text === undefined ? undefined : new TextEncoder().encode(text);
}

function splitModifiers(name: string): { held: number; key: string } {
	let held = 0;
	let key = name.startsWith("^") && name.length === 2 ? `C-${name.slice(1)}` : name;
	for (;;) {
		const [prefix, modifier = ""] = /^([a-z]+)[-+](?=.)/i.exec(key) ?? [];
		const bit = modifiers[modifier.toLowerCase()];
		if (prefix === undefined || bit === undefined) return { held, key };
		held |= bit;
		key = key.slice(prefix.length);
	}
}

function pressed(key: string, held: number): string | undefined {
	const name = key.toLowerCase();
	if (name === "btab" || (name === "tab" && held === SHIFT)) return `${ESC}[Z`;
	const letter = lettered[name];
	if (letter !== undefined) {
		if (held !== 0) return `${ESC}[1;${held + 1}${letter}`;
		return name.startsWith("f") ? `${ESC}O${letter}` : `${ESC}[${letter}`;
	}
	const number = numbered[name];
	if (number !== undefined) return held === 0 ? `${ESC}[${number}~` : `${ESC}[${number};${held + 1}~`;

	const character = plain[name] ?? (Array.from(key).length === 1 ? key : undefined);
	if (character === undefined) return undefined;
	const shifted = held & SHIFT ? character.toUpperCase() : character;
	const controlled = held & CTRL ? control(shifted) : shifted;
	if (controlled === undefined) return undefined;
	return held & ALT ? ESC + controlled : controlled;
}

/** The control character of a key: the letter's code without its upper bits. */
function control(character: string): string | undefined {
	if (character === " ") return "\u0000";
	if (character === "?") return "\u007f";
	if (character === "\u007f") return "\b";
	const code = character.toUpperCase().charCodeAt(0);
	if (code >= 0x40 && code <= 0x5f) return String.fromCharCode(code & 0x1f);
	// Enter, Tab and Escape are control characters already.
	return code < 0x20 ? character : undefined;
}
