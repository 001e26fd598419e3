/** xterm.js as we use it: nothing that a program writes makes it do more than show text. */

import { FitAddon } from "@xterm/addon-fit";
import { UnicodeGraphemesAddon } from "@xterm/addon-unicode-graphemes";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { adoptTerminalStyles } from "./csp-styles.ts";
import { findLinks, linkHandler } from "./links.ts";
import { CommandMarks } from "./marks.ts";
import { leaveUnanswered } from "./questions.ts";
import { drawFast } from "./renderer.ts";
import { MINIMUM_CONTRAST, themeOf, tokensOf } from "./theme.ts";

export type Size = { readonly cols: number; readonly rows: number };

type EmulatorOptions = {
	readonly size: Size;
	/** In pixels. */
	readonly fontSize: number;
	readonly isForReaders: boolean;
	/** Whether it shows what a program wrote to pipes, whose newlines return to the first column. */
	readonly hasBareNewlines: boolean;
};

/** What scrolls away is kept for this many rows: some 20 MB in a wide window, and more than anybody scrolls through. */
const SCROLLBACK_ROWS = 10_000;
/** How much may be given to it and not be drawn yet: what is read beyond that waits. */
const PENDING_BYTES = 64 * 1024;
/** As wide as the marks in it. */
const RULER_WIDTH = 10;
const LINE_HEIGHT = 1.3;

export class Emulator {
	readonly xterm: Terminal;
	readonly marks: CommandMarks;
	readonly #parent: HTMLElement;
	readonly #fit = new FitAddon();
	#pendingBytes = 0;
	#onDrawn: (() => void)[] = [];

	/** `parent` must be visible: its font is measured. */
	constructor(parent: HTMLElement, { size, fontSize, isForReaders, hasBareNewlines }: EmulatorOptions) {
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
			screenReaderMode: isForReaders,
			convertEol: hasBareNewlines,
			linkHandler,
			overviewRuler: { width: RULER_WIDTH },
			logLevel: "off",
		});
		leaveUnanswered(this.xterm);
		this.marks = new CommandMarks(this.xterm, token);
		// The widths that the server's own model of the screen has.
		this.xterm.loadAddon(new UnicodeGraphemesAddon());
		this.xterm.loadAddon(this.#fit);
		findLinks(this.xterm);
		this.xterm.open(parent);
		drawFast(this.xterm, () => this.#fit.proposeDimensions());
	}

	/** How large a terminal would fill its place. */
	get room(): Size | undefined {
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

	/** Resolves when all that was written is taken in, so that what is done then is in order with it. */
	settled(): Promise<void> {
		return this.#until(0);
	}

	async resize({ cols, rows }: Size): Promise<void> {
		await this.settled();
		if (cols !== this.xterm.cols || rows !== this.xterm.rows) this.xterm.resize(cols, rows);
	}

	/** All rows that it has, as text; rows that belong together are one. */
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

	/** The page's theme or the font's size is another now. */
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
