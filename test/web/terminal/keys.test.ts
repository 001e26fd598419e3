/** Key encoding, without a browser. */

import { describe, expect, it } from "vitest";
import {
	afterKey,
	afterTap,
	isFocusOrMouseReport,
	ownKey,
	type PressedKey,
	type Sticky,
	sequenceOf,
	withModifiers,
} from "../../../web/terminal/key-encoding.ts";

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
	])("%s follows the cursor key mode", (key, usual, inApplicationMode) => {
		expect(sequenceOf(key, NO_MODIFIERS, normal)).toBe(usual);
		expect(sequenceOf(key, NO_MODIFIERS, application)).toBe(inApplicationMode);
	});

	it("modifiers are encoded as in xterm, in every mode", () => {
		expect(sequenceOf("ArrowUp", ctrl, application)).toBe("\u001b[1;5A");
		expect(sequenceOf("ArrowLeft", { ...alt, shift: true }, normal)).toBe("\u001b[1;4D");
		expect(sequenceOf("PageDown", shift, normal)).toBe("\u001b[6;2~");
		expect(sequenceOf("Tab", shift, normal)).toBe("\u001b[Z");
		expect(sequenceOf("Escape", alt, normal)).toBe("\u001b\u001b");
		expect(sequenceOf("c", ctrl, normal)).toBe("\u0003");
	});
});

describe("on-screen modifiers", () => {
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
	])("Ctrl turns %s into its control character, if there is one", (typed, sent) => {
		expect(withModifiers(typed, ctrl)).toBe(sent);
	});

	it("a word from a phone's keyboard stays as it is", () => {
		expect(withModifiers("hello", ctrl)).toBe("hello");
		expect(withModifiers("x", alt)).toBe("\u001bx");
		expect(withModifiers("😀", alt)).toBe("\u001b😀");
	});
});

it("taps turn a modifier on for the next key, then lock it, then turn it off", () => {
	const states: Sticky[] = ["off"];
	for (let tap = 0; tap < 3; tap++) states.push(afterTap(states.at(-1) ?? "off"));
	expect(states).toEqual(["off", "next", "locked", "off"]);
	expect([afterKey("next"), afterKey("locked"), afterKey("off")]).toEqual(["off", "locked", "off"]);
});

it("only Ctrl-Shift, or Command on a Mac, makes a shortcut", () => {
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

it("focus and mouse motion reports are not typing; clicks and keys are", () => {
	expect(["\u001b[I", "\u001b[O", "\u001b[<35;10;3M"].map(isFocusOrMouseReport)).toEqual([true, true, true]);
	expect(["\u001b[<0;10;3M", "\u001b[A", "I", "\u001bOI"].map(isFocusOrMouseReport)).toEqual([
		false,
		false,
		false,
		false,
	]);
});
