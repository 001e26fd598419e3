/** Tracks the terminal modes that a program has changed, to reset them on detach and restore them on return. */

/** Modes `CSI ? n h` that are off by default and would disturb the shell if left on. */
const RESETTABLE: ReadonlySet<number> = new Set([
	1, 5, 6, 9, 45, 66, 69, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016, 2004, 2026, 2031, 2048,
]);
/** Modes that are on by default: auto-wrap, and the cursor. */
const USUALLY_ON: ReadonlySet<number> = new Set([7, 25]);
/** Modes of the alternate screen, oldest first. */
const SCREENS: ReadonlySet<number> = new Set([47, 1047, 1049]);

const CSI = "\u001b[";
const RESET = "\u001bc";
const PRIVATE_MODE = /^\u001b\[\?([\d;]+)([hl])$/;
const CURSOR_STYLE = /^\u001b\[(\d*) q$/;
const SCROLL_REGION = /^\u001b\[[\d;]*r$/;
const MARGINS = /^\u001b\[\d+;\d*s$/;
const COLOURS = /^\u001b\[([\d;:]*)m$/;
const KITTY_KEYS = /^\u001b\[([><=])(\d*)(?:;\d*)?u$/;
const OTHER_KEYS = /^\u001b\[>4(?:;(\d*))?m$/;
/** Colors that a program may redefine, by OSC number; the number plus 100 resets one. */
const PALETTE: ReadonlySet<number> = new Set([4, 5, 10, 11, 12, 17, 19]);
const SETTING = /^\u001b\](\d+);?([^\u0007\u001b]*)/;
const CHARACTER_SET = /^\u001b\(([0-~])$/;

export class TerminalModes {
	/** Modes that differ from the default. */
	readonly #modes = new Set<number>();
	#screen: number | undefined;
	/** Other settings by name: the sequences that undo and redo them. */
	readonly #effects = new Map<string, { readonly undo: string; readonly redo: string }>();
	/** Keyboard flags that the program pushed (kitty protocol). */
	#kitty: string[] = [];

	/** Whether the alternate screen is active. */
	get isAlternate(): boolean {
		return this.#screen !== undefined;
	}

	/** Records one complete escape sequence. */
	observe(sequence: string): void {
		const [, numbers, end] = PRIVATE_MODE.exec(sequence) ?? [];
		const [, direction, count] = KITTY_KEYS.exec(sequence) ?? [];
		if (sequence === RESET) this.#forget();
		else if (numbers !== undefined) this.#setPrivate(numbers.split(";").map(Number), end === "h");
		else if (direction !== undefined) this.#setKitty(direction, count ?? "", sequence);
		else this.#note(effects(sequence), sequence);
	}

	/** The sequence that resets the terminal; empty if nothing changed. */
	reset(): string {
		const parts = [...this.#modes].map((mode) => `${CSI}?${mode}${USUALLY_ON.has(mode) ? "h" : "l"}`);
		if (this.#kitty.length > 0) parts.push(`${CSI}<${this.#kitty.length}u`);
		for (const { undo } of this.#effects.values()) parts.push(undo);
		// Last, because the alternate screen has its own state.
		if (this.#screen !== undefined) parts.push(`${CSI}?${this.#screen}l`);
		return parts.join("");
	}

	/** The sequence that restores what `reset` reset. */
	restore(): string {
		const parts = this.#screen === undefined ? [] : [`${CSI}?${this.#screen}h`];
		for (const mode of this.#modes) parts.push(`${CSI}?${mode}${USUALLY_ON.has(mode) ? "l" : "h"}`);
		parts.push(...this.#kitty);
		for (const { redo } of this.#effects.values()) parts.push(redo);
		return parts.join("");
	}

	#setPrivate(modes: readonly number[], isOn: boolean): void {
		for (const mode of modes) {
			if (SCREENS.has(mode)) this.#screen = isOn ? mode : undefined;
			else if (isOn === USUALLY_ON.has(mode)) this.#modes.delete(mode);
			else if (RESETTABLE.has(mode) || USUALLY_ON.has(mode)) this.#modes.add(mode);
		}
	}

	#note(seen: readonly Effect[], redo: string): void {
		for (const [name, differs, undo] of seen) {
			if (differs) this.#effects.set(name, { undo, redo });
			else this.#effects.delete(name);
		}
	}

	/** `>` pushes flags, `<` pops, `=` sets them in place. */
	#setKitty(direction: string, count: string, sequence: string): void {
		if (direction === ">") this.#kitty.push(sequence);
		else if (direction === "<") this.#kitty.length = Math.max(0, this.#kitty.length - Number(count || 1));
		else this.#note([["kitty", Number(count || 0) !== 0, `${CSI}=0u`]], sequence);
	}

	#forget(): void {
		this.#modes.clear();
		this.#effects.clear();
		this.#screen = undefined;
		this.#kitty = [];
	}
}

type Effect = readonly [name: string, differs: boolean, undo: string];

function effects(sequence: string): Effect[] {
	const [, style] = CURSOR_STYLE.exec(sequence) ?? [];
	if (style !== undefined) return [["cursor", Number(style || 0) !== 0, `${CSI}0 q`]];
	const [, colours] = COLOURS.exec(sequence) ?? [];
	if (colours !== undefined) return [["colours", !/^0?$/.test(colours), `${CSI}0m`]];
	const [, set] = CHARACTER_SET.exec(sequence) ?? [];
	if (set !== undefined) return [["characters", set !== "B", "\u001b(B"]];
	const [, number, value = ""] = SETTING.exec(sequence) ?? [];
	if (number !== undefined) return settings(Number(number), value);
	const isOtherKeys = OTHER_KEYS.exec(sequence);
	if (isOtherKeys) return [["keys", Number(isOtherKeys[1] || 0) !== 0, `${CSI}>4m`]];
	// Setting a scroll region moves the cursor to the corner, so save and restore the cursor.
	if (SCROLL_REGION.test(sequence)) return [["region", sequence !== `${CSI}r`, `\u001b7${CSI}r\u001b8`]];
	if (MARGINS.test(sequence)) return [["margins", true, `${CSI}?69l`]];
	if (sequence === `${CSI}4h` || sequence === `${CSI}4l`) return [["insert", sequence.endsWith("h"), `${CSI}4l`]];
	if (sequence === "\u001b=" || sequence === "\u001b>") return [["keypad", sequence === "\u001b=", "\u001b>"]];
	// A soft reset undoes these but not the mouse and screen modes.
	if (sequence === `${CSI}!p`) return ["colours", "region", "insert", "characters"].map((name) => [name, false, ""]);
	return [];
}

/** Settings made or reset by `OSC number ; value`; a query sets nothing. */
function settings(number: number, value: string): Effect[] {
	if (number === 8) return [["link", !/^[^;]*;?$/.test(value), "\u001b]8;;\u0007"]];
	if (PALETTE.has(number) && !value.endsWith("?")) return [[`palette ${number}`, true, `\u001b]${number + 100}\u0007`]];
	if (PALETTE.has(number - 100) && value === "") return [[`palette ${number - 100}`, false, ""]];
	return [];
}
