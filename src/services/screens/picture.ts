/** Renders a screen as an SVG image or HTML page without external resources. */

import type { ScreenRow, ScreenRun, ScreenView } from "../../core/terminal/screen-view.ts";
import { withoutBlanks } from "./rows.ts";
import { BACKGROUND, escaped, FONTS, FOREGROUND, lookOf } from "./style.ts";

type StyledScreen = ScreenView & { readonly cells: readonly ScreenRow[] };

/** A run of text and its position. */
type Piece = ScreenRun & { readonly row: number; readonly col: number };

/** In pixels. In an SVG, this is the width of a character in common fixed fonts of that size. */
const CELL_WIDTH = 9;
const CELL_HEIGHT = 18;
const FONT_SIZE = 15;
const BASELINE = 14;
const MARGIN = 9;

/** ASCII characters have equal widths in every fixed font, as do repetitions of one character. */
const EQUALLY_WIDE = /[ -~]+|(.)\1*/gsu;

export function svgOf(screen: StyledScreen): string {
	const width = screen.cols * CELL_WIDTH + 2 * MARGIN;
	const height = screen.rows * CELL_HEIGHT + 2 * MARGIN;
	const { cursor } = screen;
	const pieces = piecesOf(screen);
	const parts = pieces.map(svgPiece);
	const box = svgBox({ ...cursor, cols: colsAt(pieces, cursor) }, FOREGROUND, ' fill-opacity="0.5"');
	return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" \
xml:space="preserve" font-family="${FONTS}" font-size="${FONT_SIZE}">
<title>${escaped(screen.title)}</title>
<style>text{white-space:pre;unicode-bidi:bidi-override}rect{shape-rendering:crispEdges}</style>
<rect width="${width}" height="${height}" fill="${BACKGROUND}"/>
<g transform="translate(${MARGIN} ${MARGIN})">
${[...parts.map(({ behind }) => behind), ...parts.map(({ text }) => text), cursor.visible ? box : ""]
	.filter((part) => part !== "")
	.join("\n")}
</g>
</svg>
`;
}

/** Backgrounds come before all text, since text may reach into the next cell. */
function svgPiece(piece: Piece): { readonly behind: string; readonly text: string } {
	const { row, col, cols, text, style, isSingle } = piece;
	const { color, background, isHidden, css } = lookOf(style);
	const isSeen = !isHidden && (text.trim() !== "" || css.length > 0);
	const length = isSingle || cols === 1 ? "" : ` textLength="${cols * CELL_WIDTH}"`;
	const position = `x="${col * CELL_WIDTH}" y="${row * CELL_HEIGHT + BASELINE}"${length}`;
	const look = `fill="${color}"${css.length > 0 ? ` style="${css.join(";")}"` : ""}`;
	return {
		behind: background ? svgBox(piece, background) : "",
		text: isSeen ? `<text ${position} ${look}>${escaped(text)}</text>` : "",
	};
}

type Box = { readonly row: number; readonly col: number; readonly cols: number };

function svgBox({ row, col, cols }: Box, fill: string, more = ""): string {
	const position = `x="${col * CELL_WIDTH}" y="${row * CELL_HEIGHT}" width="${cols * CELL_WIDTH}"`;
	return `<rect ${position} height="${CELL_HEIGHT}" fill="${fill}"${more}/>`;
}

export function htmlOf(screen: StyledScreen): string {
	const { cols, rows, cursor } = screen;
	const pieces = piecesOf(screen);
	const lines = Array.from({ length: rows }, () => "");
	for (const piece of pieces) lines[piece.row] += htmlPiece(piece);
	const box = `<i style="left:${cursor.col}ch;top:${cursor.row * CELL_HEIGHT}px;width:${colsAt(pieces, cursor)}ch"></i>`;
	return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escaped(screen.title)}</title>
<style>
body{margin:0;background:${BACKGROUND}}
pre{position:relative;width:${cols}ch;margin:${MARGIN}px;color:${FOREGROUND};font:${FONT_SIZE}px/${CELL_HEIGHT}px ${FONTS}}
div{height:${CELL_HEIGHT}px}
span{display:inline-block;height:${CELL_HEIGHT}px;vertical-align:top;unicode-bidi:bidi-override}
i{position:absolute;height:${CELL_HEIGHT}px;background:${FOREGROUND};opacity:.5}
</style></head><body>
<pre>${lines.map((line) => `<div>${line}</div>`).join("")}${cursor.visible ? box : ""}</pre>
</body></html>
`;
}

function htmlPiece({ text, cols, style }: Piece): string {
	const { color, background, isHidden, css } = lookOf(style);
	const behind = background ? [`background:${background}`] : [];
	const look = [`width:${cols}ch`, ...(color === FOREGROUND ? [] : [`color:${color}`]), ...behind, ...css];
	return `<span style="${look.join(";")}">${escaped(isHidden ? " ".repeat(text.length) : text)}</span>`;
}

/** Positions each piece itself, so that the font does not decide how wide a character is. */
function piecesOf({ cells }: StyledScreen): Piece[] {
	return cells.flatMap((runs, row) => {
		let col = 0;
		return withoutBlanks(runs).flatMap((run) =>
			parted(run).map((part) => {
				const piece = { ...part, row, col };
				col += part.cols;
				return piece;
			}),
		);
	});
}

function parted(run: ScreenRun): ScreenRun[] {
	if (run.isSingle) return [run];
	return (run.text.match(EQUALLY_WIDE) ?? []).map((text) => ({ text, cols: text.length, style: run.style }));
}

function colsAt(pieces: readonly Piece[], { row, col }: { readonly row: number; readonly col: number }): number {
	const at = pieces.find((piece) => piece.row === row && piece.col === col);
	return at?.isSingle ? at.cols : 1;
}
