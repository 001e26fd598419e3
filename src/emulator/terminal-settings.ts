/** Terminal settings that xterm does not store: colors, keyboard protocols, and modes that it does not know. */

import type { Terminal } from "./xterm-internals.ts";

/** Prefix of a palette index. */
const PALETTE = "4;";
/** `OSC` numbers of foreground, background and cursor color. */
const SPECIAL_COLORS: readonly number[] = [10, 11, 12];
const COLOR = /^(?:#(?:[0-9a-f]{3}){1,4}|rgb:[0-9a-f]{1,4}\/[0-9a-f]{1,4}\/[0-9a-f]{1,4})$/i;
/** UTF-8 and urxvt mouse, wheel as arrows, meta and escape keys, reports of color scheme and size. */
const MODES: ReadonlySet<number> = new Set([1005, 1007, 1015, 1034, 1035, 1036, 1039, 2031, 2048]);
/** Depth of kitty's stack of keyboard flags. */
const MAX_FLAGS = 16;
const MAX_FLAG = 31;

/** Stack of keyboard flags of one screen. The last entry is in effect. */
type Flags = number[];

export class TerminalSettings {
	/** By `4;INDEX` or `10`. Undefined means reset. */
	readonly #colors = new Map<string, string | undefined>();
	readonly #modes = new Map<number, boolean>();
	/** Undefined until a program uses them. */
	#keys: { readonly normal: Flags; readonly alternate: Flags } | undefined;
	#otherKeys: number | undefined;

	constructor(terminal: Terminal) {
		const { parser, buffer } = terminal;
		parser.registerOscHandler(4, (data) => this.#setPalette(data));
		parser.registerOscHandler(104, (data) => this.#restorePalette(data));
		for (const code of SPECIAL_COLORS) {
			parser.registerOscHandler(code, (data) => this.#setSpecial(code, data));
			parser.registerOscHandler(code + 100, () => this.#restore(String(code)));
		}
		parser.registerCsiHandler({ prefix: "?", final: "h" }, (params) => this.#setModes(params, true));
		parser.registerCsiHandler({ prefix: "?", final: "l" }, (params) => this.#setModes(params, false));
		parser.registerCsiHandler({ prefix: ">", final: "m" }, ([what, value]) => {
			if (what === 4) this.#otherKeys = typeof value === "number" ? Math.min(value, 2) : 0;
			return false;
		});
		const flags = () => {
			this.#keys ??= { normal: [0], alternate: [0] };
			return this.#keys[buffer.active.type];
		};
		parser.registerCsiHandler({ prefix: ">", final: "u" }, ([value]) => push(flags(), value));
		parser.registerCsiHandler({ prefix: "<", final: "u" }, ([count]) => pop(flags(), count));
		parser.registerCsiHandler({ prefix: "=", final: "u" }, ([value, how]) => set(flags(), value, how));
		parser.registerEscHandler({ final: "c" }, () => {
			if (this.#keys) this.#keys = { normal: [0], alternate: [0] };
			if (this.#otherKeys !== undefined) this.#otherKeys = 0;
			for (const mode of this.#modes.keys()) this.#modes.set(mode, false);
			return false;
		});
	}

	/** The sequences that restore the settings, except for keyboard flags, which each screen has separately. */
	restoring(): string {
		const colors = [...this.#colors].map(([name, color]) =>
			color === undefined ? `\x1b]${restoringCode(name)}\x1b\\` : `\x1b]${name};${color}\x1b\\`,
		);
		const modes = [...this.#modes].map(([mode, isOn]) => `\x1b[?${mode}${isOn ? "h" : "l"}`);
		return [...colors, ...modes, this.#otherKeys === undefined ? "" : `\x1b[>4;${this.#otherKeys}m`].join("");
	}

	restoringKeys(screen: "normal" | "alternate"): string {
		const flags = this.#keys?.[screen];
		if (!flags) return "";
		const [first = 0, ...rest] = flags;
		return `\x1b[<${MAX_FLAGS}u\x1b[=${first}u${rest.map((value) => `\x1b[>${value}u`).join("")}`;
	}

	#setPalette(data: string): boolean {
		const parts = data.split(";");
		for (let at = 0; at + 1 < parts.length; at += 2) {
			const [index = "", color = ""] = parts.slice(at, at + 2);
			if (isIndex(index) && COLOR.test(color)) this.#colors.set(`${PALETTE}${Number(index)}`, color);
		}
		return false;
	}

	#restorePalette(data: string): boolean {
		const known = [...this.#colors.keys()].filter((name) => name.startsWith(PALETTE));
		const named = data.split(";").filter(isIndex);
		for (const name of data === "" ? known : named.map((index) => `${PALETTE}${Number(index)}`)) this.#restore(name);
		return false;
	}

	#setSpecial(code: number, data: string): boolean {
		// Further values are for the following numbers.
		for (const [index, color] of data.split(";").entries()) {
			if (SPECIAL_COLORS.includes(code + index) && COLOR.test(color)) this.#colors.set(String(code + index), color);
		}
		return false;
	}

	#restore(name: string): boolean {
		this.#colors.set(name, undefined);
		return false;
	}

	#setModes(params: (number | number[])[], isOn: boolean): boolean {
		for (const mode of params) {
			if (typeof mode === "number" && MODES.has(mode)) this.#modes.set(mode, isOn);
		}
		return false;
	}
}

type Param = number | number[] | undefined;

function push(flags: Flags, value: Param): boolean {
	flags.push(toFlag(value));
	if (flags.length > MAX_FLAGS) flags.shift();
	return false;
}

function pop(flags: Flags, count: Param): boolean {
	flags.splice(Math.max(0, flags.length - (typeof count === "number" ? count || 1 : 1)));
	if (flags.length === 0) flags.push(0);
	return false;
}

/** Replaces the flags, adds to them, or removes some. */
function set(flags: Flags, value: Param, how: Param): boolean {
	const before = flags.pop() ?? 0;
	const given = toFlag(value);
	flags.push(how === 2 ? before | given : how === 3 ? before & ~given : given);
	return false;
}

function toFlag(value: Param): number {
	return typeof value === "number" ? value & MAX_FLAG : 0;
}

function isIndex(text: string): boolean {
	return /^\d{1,3}$/.test(text) && Number(text) < 256;
}

function restoringCode(name: string): string {
	return name.startsWith(PALETTE) ? `10${name}` : `1${name}`;
}
