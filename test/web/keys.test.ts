/** What keys send, without a browser. */

import { describe, expect, it } from "vitest";
import {
	isReport,
	ownKey,
	type PressedKey,
	type Sticky,
	sequenceOf,
	tapped,
	used,
	withModifiers,
} from "../../web/terminal/keys.ts";

const normal = { isApplicationCursor: false };
const application = { isApplicationCursor: true };
const NO_MODIFIERS = { ctrl: false, alt: false, shift: false };
const ctrl = { ...NO_MODIFIERS, ctrl: true };
const alt = { ...NO_MODIFIERS, alt: true };
const shift = { ...NO_MODIFIERS, shift: true };

describe("a key", () => {
	it.each([
		["ArrowUp", "\u001b[A", "\u001bOA"],
		["ArrowDown", "\u001b[B", "\u001bOB"],
		["ArrowRight", "\u001b[C", "\u001bOC"],
		["ArrowLeft", "\u001b[D", "\u001bOD"],
		["Home", "\u001b[H", "\u001bOH"],
		["End", "\u001b[F", "\u001bOF"],
		["PageUp", "\u001b[5~", "\u001b[5~"],
		["Escape", "\u001b", "\u001b"],
		["Tab", "\t", "\t"],
	])("%s follows the mode of cursor keys", (key, usual, inApplicationMode) => {
		expect(sequenceOf(key, NO_MODIFIERS, normal)).toBe(usual);
		expect(sequenceOf(key, NO_MODIFIERS, application)).toBe(inApplicationMode);
	});

	it("says its modifiers as xterm does, whatever the mode", () => {
		expect(sequenceOf("ArrowUp", ctrl, application)).toBe("\u001b[1;5A");
		expect(sequenceOf("ArrowLeft", { ...alt, shift: true }, normal)).toBe("\u001b[1;4D");
		expect(sequenceOf("PageDown", shift, normal)).toBe("\u001b[6;2~");
		expect(sequenceOf("Tab", shift, normal)).toBe("\u001b[Z");
		expect(sequenceOf("Escape", alt, normal)).toBe("\u001b\u001b");
		expect(sequenceOf("c", ctrl, normal)).toBe("\u0003");
	});
});

describe("what was typed", () => {
	it.each([
		["c", "\u0003"],
		["C", "\u0003"],
		["[", "\u001b"],
		[" ", "\0"],
		["/", "\u001f"],
		["?", "\u007f"],
		["3", "\u001b"],
		["8", "\u007f"],
		["é", "é"],
	])("%s becomes its control character, where there is one", (typed, sent) => {
		expect(withModifiers(typed, ctrl)).toBe(sent);
	});

	it("stays as it is if it is more than a character, such as a word of a phone's keyboard", () => {
		expect(withModifiers("hello", ctrl)).toBe("hello");
		expect(withModifiers("x", alt)).toBe("\u001bx");
		expect(withModifiers("😀", alt)).toBe("\u001b😀");
	});
});

it("a modifier on the screen is for the next key, then locked, then off", () => {
	const states: Sticky[] = ["off"];
	for (let tap = 0; tap < 3; tap++) states.push(tapped(states.at(-1) ?? "off"));
	expect(states).toEqual(["off", "next", "locked", "off"]);
	expect([used("next"), used("locked"), used("off")]).toEqual(["off", "locked", "off"]);
});

it("only Control and Shift together make a key ours, and Command on a Mac", () => {
	const key = (code: string, held: Partial<PressedKey>): PressedKey => ({
		code,
		ctrlKey: false,
		shiftKey: false,
		metaKey: false,
		altKey: false,
		...held,
	});
	expect(ownKey(key("KeyK", { ctrlKey: true, shiftKey: true }), false)).toBe("go-to");
	expect(ownKey(key("KeyK", { ctrlKey: true }), false)).toBeUndefined();
	expect(ownKey(key("KeyR", { ctrlKey: true, shiftKey: true }), false)).toBeUndefined();
	expect(ownKey(key("KeyC", { metaKey: true }), true)).toBe("copy");
	expect(ownKey(key("KeyC", { ctrlKey: true, shiftKey: true }), true)).toBeUndefined();
});

it("reports of focus and of a mouse that only moves are no typing, clicks and keys are", () => {
	expect(["\u001b[I", "\u001b[O", "\u001b[<35;10;3M"].map(isReport)).toEqual([true, true, true]);
	expect(["\u001b[<0;10;3M", "\u001b[A", "I", "\u001bOI"].map(isReport)).toEqual([false, false, false, false]);
});
