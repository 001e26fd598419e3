/** Keys that a phone's keyboard lacks. The buttons take no focus, so that the keyboard stays open. */

import {
	afterKey,
	afterTap,
	type KeyModes,
	type Modifiers,
	type Sticky,
	sequenceOf,
	withModifiers,
} from "./key-encoding.ts";

type KeyBarOptions = {
	readonly send: (sequence: string) => void;
	readonly modes: () => KeyModes;
	readonly paste: () => void;
	readonly hideKeyboard: () => void;
};

type BarKey = {
	readonly label: string;
	/** Accessible name, if the label is not a word. */
	readonly name?: string;
	/** The browser's key name, or the text to send. */
	readonly key?: string;
	readonly with?: Partial<Modifiers>;
	readonly act?: "ctrl" | "alt" | "paste" | "hide";
	readonly repeats?: true;
};

const ROWS: readonly (readonly BarKey[])[] = [
	[
		{ label: "Esc", name: "Escape", key: "Escape" },
		{ label: "Tab", key: "Tab" },
		{ label: "Ctrl", name: "Control", act: "ctrl" },
		{ label: "Alt", act: "alt" },
		{ label: "\u2190", name: "Left", key: "ArrowLeft", repeats: true },
		{ label: "\u2193", name: "Down", key: "ArrowDown", repeats: true },
		{ label: "\u2191", name: "Up", key: "ArrowUp", repeats: true },
		{ label: "\u2192", name: "Right", key: "ArrowRight", repeats: true },
	],
	[
		{ label: "^C", name: "Control C", key: "c", with: { ctrl: true } },
		{ label: "^D", name: "Control D", key: "d", with: { ctrl: true } },
		{ label: "\u21e7Tab", name: "Shift Tab", key: "Tab", with: { shift: true } },
		{ label: "/", name: "Slash", key: "/" },
		{ label: "-", name: "Hyphen", key: "-" },
		{ label: "|", name: "Bar", key: "|" },
		{ label: "Paste", act: "paste" },
		{ label: "\u2328", name: "Hide the keyboard", act: "hide" },
	],
];

/** Movement in pixels that counts as a swipe. */
const SWIPE_PX = 10;
const REPEAT_AFTER_MS = 350;
const REPEAT_MS = 60;

export class KeyBar {
	readonly element: HTMLElement;
	readonly #options: KeyBarOptions;
	readonly #modifierCaps = new Map<"ctrl" | "alt", HTMLElement>();
	#sticky: Record<"ctrl" | "alt", Sticky> = { ctrl: "off", alt: "off" };

	constructor(options: KeyBarOptions) {
		this.#options = options;
		this.element = document.createElement("div");
		this.element.className = "key-bar";
		this.element.setAttribute("role", "toolbar");
		this.element.setAttribute("aria-label", "Keys");
		for (const caps of ROWS) {
			const row = document.createElement("div");
			row.append(...caps.map((cap) => this.#button(cap)));
			this.element.append(row);
		}
	}

	/** Applies held modifiers to text from the phone's keyboard. */
	modify(typed: string): string {
		const modified = withModifiers(typed, this.#modifiers());
		if (modified !== typed) this.#used();
		return modified;
	}

	#button(cap: BarKey): HTMLElement {
		const button = document.createElement("button");
		button.type = "button";
		button.tabIndex = -1;
		button.textContent = cap.label;
		button.setAttribute("aria-label", cap.name ?? cap.label);
		if (cap.act === "ctrl" || cap.act === "alt") {
			this.#modifierCaps.set(cap.act, button);
			button.setAttribute("aria-pressed", "false");
		}
		let stop = () => {};
		button.addEventListener("pointerdown", (down) => {
			down.preventDefault();
			stop = this.#hold(button, cap, down);
		});
		button.addEventListener("pointercancel", () => stop());
		// Click without a pointer, as screen readers send it.
		button.addEventListener("click", ({ detail }) => {
			if (detail === 0) this.#press(cap);
		});
		return button;
	}

	/** Starts when the finger is down; returns a function that cancels without a press. */
	#hold(button: HTMLElement, cap: BarKey, down: PointerEvent): () => void {
		const held = new AbortController();
		const { signal } = held;
		let timer: ReturnType<typeof setTimeout> | undefined;
		signal.addEventListener("abort", () => clearTimeout(timer));
		const repeat = () => {
			this.#press(cap);
			timer = setTimeout(repeat, REPEAT_MS);
		};
		let isRepeated = false;
		if (cap.repeats) {
			timer = setTimeout(() => {
				isRepeated = true;
				repeat();
			}, REPEAT_AFTER_MS);
		}
		button.setPointerCapture(down.pointerId);
		button.addEventListener(
			"pointermove",
			({ clientX, clientY }) => {
				if (Math.hypot(clientX - down.clientX, clientY - down.clientY) > SWIPE_PX) held.abort();
			},
			{ signal },
		);
		button.addEventListener(
			"pointerup",
			() => {
				held.abort();
				if (!isRepeated) this.#press(cap);
			},
			{ signal },
		);
		return () => held.abort();
	}

	#press({ key, act, with: held }: BarKey): void {
		if (act === "ctrl" || act === "alt") this.#set(act, afterTap(this.#sticky[act]));
		else if (act === "paste") this.#options.paste();
		else if (act === "hide") this.#options.hideKeyboard();
		else if (key !== undefined) {
			this.#options.send(sequenceOf(key, { ...this.#modifiers(), ...held }, this.#options.modes()));
			this.#used();
		}
	}

	#modifiers(): Modifiers {
		return { ctrl: this.#sticky.ctrl !== "off", alt: this.#sticky.alt !== "off", shift: false };
	}

	#used(): void {
		this.#set("ctrl", afterKey(this.#sticky.ctrl));
		this.#set("alt", afterKey(this.#sticky.alt));
	}

	#set(modifier: "ctrl" | "alt", sticky: Sticky): void {
		this.#sticky[modifier] = sticky;
		const cap = this.#modifierCaps.get(modifier);
		cap?.setAttribute("aria-pressed", String(sticky !== "off"));
		cap?.classList.toggle("locked", sticky === "locked");
	}
}
