/** A thumbnail of a session's screen on a canvas. */

import type { StyledScreen } from "hawser/client";
import { type TokenReader, themeOf } from "./theme.ts";

type Run = StyledScreen["lines"][number][number];
type Color = NonNullable<NonNullable<Run["style"]>["fg"]>;

/** In CSS pixels; smaller text is not readable. */
const FONT_PX = 10.5;
const LINE_PX = 15;
const PADDING_PX = 8;
const DIM = 0.6;

export class Tile {
	readonly canvas: HTMLCanvasElement;
	readonly #context: CanvasRenderingContext2D;
	#screen: StyledScreen | undefined;
	/** Index of the first screen row in the thumbnail. */
	#first = 0;
	/** In CSS pixels, cached by `fit`: reading it while drawing rows would force a layout for each row. */
	#size = { width: 0, height: 0 };
	#palette: readonly string[] = [];
	#ink = { text: "", background: "", mono: "" };
	#cellPx = 0;

	constructor() {
		this.canvas = document.createElement("canvas");
		const context = this.canvas.getContext("2d", { alpha: false });
		if (!context) throw new Error("invariant: no 2D canvas context");
		this.#context = context;
	}

	/** Called when the element's size or the theme changed. */
	fit(token: TokenReader): void {
		const { clientWidth: width, clientHeight: height } = this.canvas;
		const ratio = devicePixelRatio;
		this.#size = { width, height };
		this.canvas.width = Math.round(width * ratio);
		this.canvas.height = Math.round(height * ratio);
		this.#context.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.#palette = paletteOf(token);
		this.#ink = { text: token("text"), background: token("term"), mono: token("mono") };
		this.#context.font = this.#font(false, false);
		this.#cellPx = this.#context.measureText("0").width;
		this.#context.textBaseline = "middle";
		this.#drawAll();
	}

	/** Draws the changed rows. */
	show(screen: StyledScreen): void {
		const before = this.#screen;
		this.#screen = screen;
		const first = this.#firstRow(screen);
		const isSame = before?.rows === screen.rows && before.cols === screen.cols && first === this.#first;
		this.#first = first;
		if (!before || !isSame) {
			this.#drawAll();
			return;
		}
		for (const row of new Set([...screen.changed, before.cursor.row, screen.cursor.row])) this.#drawRow(row);
	}

	/** The last row with text, as the accessible description. */
	get lastLine(): string {
		const line = this.#screen?.lines.findLast((runs) => runs.some(({ text }) => text.trim() !== ""));
		return (
			line
				?.map(({ text }) => text)
				.join("")
				.trim() ?? ""
		);
	}

	/** Shows the corner around the cursor instead of scaling the whole screen down. */
	#firstRow({ rows, cursor }: StyledScreen): number {
		const room = Math.floor((this.#size.height - 2 * PADDING_PX) / LINE_PX);
		return Math.max(0, Math.min(rows - room, cursor.row - room + 1));
	}

	#drawAll(): void {
		this.#context.fillStyle = this.#ink.background;
		this.#context.fillRect(0, 0, this.#size.width, this.#size.height);
		const screen = this.#screen;
		if (!screen) return;
		this.#first = this.#firstRow(screen);
		for (let row = this.#first; row < screen.rows; row++) this.#drawRow(row);
	}

	#drawRow(row: number): void {
		const top = PADDING_PX + (row - this.#first) * LINE_PX;
		const screen = this.#screen;
		if (!screen || row < this.#first || top + LINE_PX > this.#size.height) return;
		this.#context.fillStyle = this.#ink.background;
		this.#context.fillRect(0, top, this.#size.width, LINE_PX);
		let col = 0;
		for (const run of screen.lines[row] ?? []) {
			this.#drawRun(run, PADDING_PX + col * this.#cellPx, top);
			col += run.cols;
		}
		const { cursor } = screen;
		if (!cursor.visible || cursor.row !== row) return;
		this.#context.strokeStyle = this.#ink.text;
		this.#context.strokeRect(PADDING_PX + cursor.col * this.#cellPx + 0.5, top + 0.5, this.#cellPx - 1, LINE_PX - 1);
	}

	#drawRun({ text, cols, style = {} }: Run, left: number, top: number): void {
		const context = this.#context;
		const fg = this.#colorOf(style.fg, this.#ink.text);
		const bg = this.#colorOf(style.bg, this.#ink.background);
		const [ink, ground] = style.inverse ? [bg, fg] : [fg, bg];
		if (ground !== this.#ink.background) {
			context.fillStyle = ground;
			context.fillRect(left, top, cols * this.#cellPx, LINE_PX);
		}
		if (style.invisible || text.trim() === "") return;
		context.globalAlpha = style.dim ? DIM : 1;
		context.fillStyle = ink;
		context.font = this.#font(style.bold === true, style.italic === true);
		const middle = top + LINE_PX / 2;
		// Fallback fonts have other character widths.
		if (/^[\u0020-\u007e]*$/.test(text)) context.fillText(text, left, middle);
		else if ([...text].length === 1) context.fillText(text, left, middle);
		else for (let at = 0; at < text.length; at++) context.fillText(text.charAt(at), left + at * this.#cellPx, middle);
		if (style.underline) context.fillRect(left, top + LINE_PX - 2, cols * this.#cellPx, 1);
		if (style.strikethrough) context.fillRect(left, middle, cols * this.#cellPx, 1);
		context.globalAlpha = 1;
	}

	#colorOf(color: Color | undefined, usual: string): string {
		if (color === undefined) return usual;
		return typeof color === "string" ? color : (this.#palette[color] ?? usual);
	}

	#font(isBold: boolean, isItalic: boolean): string {
		return `${isItalic ? "italic " : ""}${isBold ? 700 : 400} ${FONT_PX}px ${this.#ink.mono}`;
	}
}

/** 16 theme colors, a 6 × 6 × 6 cube, and 24 grays. */
function paletteOf(token: TokenReader): string[] {
	const theme = themeOf(token);
	const { black, red, green, yellow, blue, magenta, cyan, white } = theme;
	const { brightBlack, brightRed, brightGreen, brightYellow, brightBlue, brightMagenta, brightCyan, brightWhite } =
		theme;
	const dark = [black, red, green, yellow, blue, magenta, cyan, white];
	const bright = [
		brightBlack,
		brightRed,
		brightGreen,
		brightYellow,
		brightBlue,
		brightMagenta,
		brightCyan,
		brightWhite,
	];
	const levels = [0, 95, 135, 175, 215, 255];
	const cube = levels.flatMap((r) => levels.flatMap((g) => levels.map((b) => `rgb(${r} ${g} ${b})`)));
	const greys = Array.from({ length: 24 }, (_, index) => 8 + index * 10).map(
		(level) => `rgb(${level} ${level} ${level})`,
	);
	return [...dark, ...bright].map((color) => color ?? token("text")).concat(cube, greys);
}
