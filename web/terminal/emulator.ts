/** Configures xterm.js so that program output can only display text. */

import { FitAddon } from "@xterm/addon-fit";
import { UnicodeGraphemesAddon } from "@xterm/addon-unicode-graphemes";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { CommandMarks } from "./command-marks.ts";
import { adoptTerminalStyles } from "./csp-styles.ts";
import { useWebGl } from "./renderer.ts";
import { suppressQueries } from "./suppress-queries.ts";
import { MINIMUM_CONTRAST, themeOf, tokensOf } from "./theme.ts";
import { findLinks, linkHandler } from "./web-links.ts";

export type Size = { readonly cols: number; readonly rows: number };

type EmulatorOptions = {
	readonly size: Size;
	/** In pixels. */
	readonly fontSize: number;
	readonly screenReaderMode: boolean;
	/** Whether the output comes from pipes, where a newline also returns to the first column. */
	readonly hasBareNewlines: boolean;
};

/**
 * Scrollback rows: about 20 MB in a wide window, and more than a user scrolls.
 * @limit rows above a terminal of a page | the oldest are dropped; search and playback reach them
 */
const SCROLLBACK_ROWS = 10_000;
/**
 * Bytes passed to xterm.js and not yet processed.
 * @limit output that a terminal of a page has not processed | no more is read
 */
const PENDING_BYTES = 64 * 1024;
/** Width of its marks. */
const RULER_WIDTH = 10;
const LINE_HEIGHT = 1.3;

export class Emulator {
	readonly xterm: Terminal;
	readonly marks: CommandMarks;
	readonly #parent: HTMLElement;
	readonly #fit = new FitAddon();
	#pendingBytes = 0;
	#onDrawn: (() => void)[] = [];

	/** `parent` must be visible, because the font is measured. */
	constructor(parent: HTMLElement, { size, fontSize, screenReaderMode, hasBareNewlines }: EmulatorOptions) {
		adoptTerminalStyles();
		this.#parent = parent;
		const token = tokensOf(parent);
		this.xterm = new Terminal({
			...size,
			allowProposedApi: true,
			fontSize,
			fontFamily: token("mono"),
			lineHeight: LINE_HEIGHT,
			theme: themeOf(token),
			minimumContrastRatio: MINIMUM_CONTRAST,
			scrollback: SCROLLBACK_ROWS,
			screenReaderMode: screenReaderMode,
			convertEol: hasBareNewlines,
			linkHandler,
			overviewRuler: { width: RULER_WIDTH },
			logLevel: "off",
		});
		suppressQueries(this.xterm);
		this.marks = new CommandMarks(this.xterm, token);
		// The same character widths as in the server's emulator.
		this.xterm.loadAddon(new UnicodeGraphemesAddon());
		this.xterm.loadAddon(this.#fit);
		findLinks(this.xterm);
		this.xterm.open(parent);
		useWebGl(this.xterm, () => this.#fit.proposeDimensions());
	}

	/** The size that fills the parent element. */
	get availableSize(): Size | undefined {
		const proposed = this.#fit.proposeDimensions();
		return proposed && Number.isFinite(proposed.cols) ? { cols: proposed.cols, rows: proposed.rows } : undefined;
	}

	/** Resolves when more may be written. */
	async write(data: Uint8Array | string): Promise<void> {
		this.#pendingBytes += data.length;
		this.xterm.write(data, () => {
			this.#pendingBytes -= data.length;
			const waiting = this.#onDrawn;
			this.#onDrawn = [];
			for (const resolve of waiting) resolve();
		});
		await this.#until(PENDING_BYTES);
	}

	/** Resolves when all writes were processed, so that later operations are in order. */
	drained(): Promise<void> {
		return this.#until(0);
	}

	async resize({ cols, rows }: Size): Promise<void> {
		await this.drained();
		if (cols !== this.xterm.cols || rows !== this.xterm.rows) this.xterm.resize(cols, rows);
	}

	/** All rows as text; wrapped rows are joined. */
	get text(): string {
		const { active } = this.xterm.buffer;
		const lines: string[] = [];
		for (let row = 0; row < active.length; row++) {
			const line = active.getLine(row);
			const text = line?.translateToString(true) ?? "";
			if (line?.isWrapped && lines.length > 0) lines[lines.length - 1] += text;
			else lines.push(text);
		}
		return lines.join("\n").trimEnd();
	}

	/** Applies a changed theme or font size. */
	restyle(fontSize: number): void {
		const token = tokensOf(this.#parent);
		this.xterm.options.theme = themeOf(token);
		this.xterm.options.fontSize = fontSize;
	}

	dispose(): void {
		this.xterm.dispose();
	}

	async #until(bytes: number): Promise<void> {
		while (this.#pendingBytes > bytes) await new Promise<void>((resolve) => this.#onDrawn.push(resolve));
	}
}
