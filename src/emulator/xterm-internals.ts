/**
 * The internals of xterm that we read, because its API has neither the pen nor margins, charsets, saved cursors and the
 * parser's state. The version is pinned in `package.json`, and the tests of the model fail if a name changes.
 */

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
// Without its own types, which depend on those of a browser.
const headless = require("@xterm/headless") as { Terminal: new (options: object) => Terminal };
const graphemes = requireUnpooled("@xterm/addon-unicode-graphemes") as { UnicodeGraphemesAddon: new () => object };

/** The add-on uses the whole underlying buffer of its decoded tables, and fails if that is part of Node's pool. */
function requireUnpooled(name: string): unknown {
	const { poolSize } = Buffer;
	Buffer.poolSize = 0;
	try {
		return require(name);
	} finally {
		Buffer.poolSize = poolSize;
	}
}

export type TerminalBuffer = {
	readonly type: "normal" | "alternate";
	readonly baseY: number;
	readonly cursorX: number;
	readonly cursorY: number;
	getLine(y: number): { translateToString(trimRight: boolean, from: number, to: number): string } | undefined;
};

/** The part of its API that we use. */
export type Terminal = {
	readonly cols: number;
	readonly rows: number;
	readonly options: { readonly convertEol: boolean; readonly cursorBlink: boolean; scrollback: number };
	readonly buffer: { readonly active: TerminalBuffer; readonly normal: TerminalBuffer };
	/** A handler that returns false passes the sequence to the previous one. */
	readonly parser: {
		registerOscHandler(code: number, act: (data: string) => boolean): void;
		registerCsiHandler(id: { prefix?: string; final: string }, act: (params: (number | number[])[]) => boolean): void;
		registerEscHandler(id: { final: string }, act: () => boolean): void;
	};
	loadAddon(addon: object): void;
	resize(cols: number, rows: number): void;
	dispose(): void;
};

/** Colors and flags of a cell or the pen, in xterm's bits. */
export type Attributes = { readonly fg: number; readonly bg: number; readonly extended: Extended };
export type Extended = { readonly _ext: number; readonly urlId: number };

export type Line = {
	readonly length: number;
	readonly isWrapped: boolean;
	getWidth(x: number): number;
	getString(x: number): string;
	getFg(x: number): number;
	getBg(x: number): number;
	readonly _extendedAttrs: Readonly<Record<number, Extended | undefined>>;
};

/** A mapping of characters. Charsets are compared by identity. */
export type Charset = Readonly<Record<string, string>>;

export type ScreenBuffer = {
	readonly lines: { readonly length: number; get(index: number): Line | undefined };
	readonly ybase: number;
	readonly x: number;
	readonly y: number;
	readonly scrollTop: number;
	readonly scrollBottom: number;
	readonly tabs: Readonly<Record<number, boolean | undefined>>;
	readonly savedX: number;
	readonly savedY: number;
	readonly savedCurAttrData: Pick<Attributes, "fg" | "bg">;
	readonly savedCharset: Charset | undefined;
};

export type Params = { readonly length: number; readonly params: Int32Array };

export type XtermInternals = {
	writeSync(bytes: Uint8Array): void;
	readonly buffers: { readonly active: ScreenBuffer; readonly normal: ScreenBuffer; readonly alt: ScreenBuffer };
	readonly coreService: {
		readonly isCursorHidden: boolean;
		readonly modes: { readonly insertMode: boolean };
		readonly decPrivateModes: {
			readonly applicationCursorKeys: boolean;
			readonly applicationKeypad: boolean;
			readonly bracketedPasteMode: boolean;
			readonly cursorBlink: boolean | undefined;
			readonly cursorStyle: "block" | "underline" | "bar" | undefined;
			readonly origin: boolean;
			readonly reverseWraparound: boolean;
			readonly sendFocus: boolean;
			readonly synchronizedOutput: boolean;
			readonly wraparound: boolean;
		};
	};
	readonly coreMouseService: { readonly activeProtocol: string; readonly activeEncoding: string };
	readonly _charsetService: {
		readonly charset: Charset | undefined;
		readonly glevel: number;
		readonly _charsets: readonly (Charset | undefined)[];
	};
	readonly _oscLinkService: { getLinkData(id: number): { readonly id?: string; readonly uri: string } | undefined };
	readonly _inputHandler: {
		readonly _curAttrData: Attributes;
		readonly _windowTitle: string;
		readonly _windowTitleStack: readonly string[];
		readonly _parser: {
			readonly currentState: number;
			readonly precedingJoinState: number;
			reset(): void;
			/** Called before xterm's own handler, which sees changes to the parameters. */
			registerCsiHandler(id: { final: string }, act: (params: Params) => boolean): void;
		};
	};
};

export type OpenedTerminal = { readonly terminal: Terminal; readonly inside: XtermInternals };

export function openTerminal(options: { cols: number; rows: number; scrollback: number }): OpenedTerminal {
	const terminal = new headless.Terminal({
		...options,
		allowProposedApi: true,
		logLevel: "off",
		// As terminals do: a program pushes the title, and pops it when it ends.
		windowOptions: { pushTitle: true, popTitle: true },
	});
	terminal.loadAddon(new graphemes.UnicodeGraphemesAddon());
	return { terminal, inside: (terminal as unknown as { _core: XtermInternals })._core };
}
