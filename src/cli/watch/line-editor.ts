/** A one-line text editor. */

import { safeLine } from "../print/safe-text.ts";
import type { Key } from "../terminal/key-reader.ts";

/** Characters allowed. Bounds memory when a user pastes by mistake. */
const LONGEST = 4096;

export class LineEditor {
	#before: string[] = [];
	#after: string[] = [];

	constructor(text = "") {
		this.#before = [...text];
	}

	get text(): string {
		return [...this.#before, ...this.#after].join("");
	}

	/** The text before the cursor. */
	get before(): string {
		return this.#before.join("");
	}

	press({ kind, value }: Key): void {
		if (kind === "key") this.#edit(value);
		// An answer is one line: line breaks in a paste become spaces and do not press Enter.
		else this.#insert(kind === "paste" ? value.replace(/[\r\n]+$/, "").replace(/\s*[\r\n]\s*/g, " ") : value);
	}

	#insert(text: string): void {
		const room = LONGEST - this.#before.length - this.#after.length;
		this.#before.push(...[...text].slice(0, room));
	}

	#edit(key: string): void {
		const edits: Readonly<Record<string, () => void>> = {
			Backspace: () => this.#before.pop(),
			Delete: () => this.#after.shift(),
			Left: () => this.#move(-1),
			"C-b": () => this.#move(-1),
			Right: () => this.#move(1),
			"C-f": () => this.#move(1),
			Home: () => this.#move(-LONGEST),
			"C-a": () => this.#move(-LONGEST),
			End: () => this.#move(LONGEST),
			"C-e": () => this.#move(LONGEST),
			"C-u": () => this.#before.splice(0),
			"C-k": () => this.#after.splice(0),
			"C-w": () => {
				this.#before = [...this.before.replace(/\S*\s*$/, "")];
			},
		};
		edits[key]?.();
	}

	#move(by: number): void {
		const all = [...this.#before, ...this.#after];
		const at = Math.max(0, Math.min(all.length, this.#before.length + by));
		this.#before = all.slice(0, at);
		this.#after = all.slice(at);
	}
}

/** The text to display, and the length of the part before the cursor. */
export function displayText(field: LineEditor): { readonly text: string; readonly before: string } {
	return { text: safeLine(field.text), before: safeLine(field.before) };
}
